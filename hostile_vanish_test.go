package roce_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
)

// Peers that are gone, or others than before.

const (
	patience  = 14 // code of the local ACK timeout …
	tries     = 4  // … and how often a packet is sent
	endurance = tries * (4096 * time.Nanosecond << patience)
)

// end runs the world until the victim has n completions, and returns their statuses and
// when the last one came.
func (s *siege) end(n int) (statuses []roce.Status, at clock.Time) {
	s.t.Helper()
	var wcs [256]roce.WC
	require.NoError(s.t, s.world.RunUntil(func() bool {
		for _, wc := range wcs[:s.victim.cq.Poll(wcs[:])] {
			statuses = append(statuses, wc.Status)
		}
		return len(statuses) >= n
	}, s.world.Now().Add(time.Minute)))
	return statuses, s.world.Now()
}

// TestVanishedPeer proves R18: a peer that vanishes at any point of any operation costs
// four timeouts from the last sign of life, to the nanosecond; then all work ends. (A NAK
// uses up one of them.)
func TestVanishedPeer(t *testing.T) {
	long := func(s *siege, op roce.Op) {
		s.victim.send(roce.SendWR{Op: op, SGE: s.victim.mr.SGE(0, 3*siegeMTU), RemoteAddr: 0x1000, RKey: 1})
	}
	ack := func(s *siege, off uint32, y bth.Syndrome) {
		s.answer(bth.RCAcknowledge, s.firstPSN().Add(off), y).fire()
	}
	for name, c := range map[string]struct {
		before func(s *siege) // the last sign of life is sent last
		wait   time.Duration  // from its arrival on
	}{
		"before anything":        {func(s *siege) { long(s, roce.OpSend) }, endurance},
		"in the middle of SEND":  {func(s *siege) { long(s, roce.OpSend); s.settle(); ack(s, 0, bth.ACKUnlimited) }, endurance},
		"in the middle of WRITE": {func(s *siege) { long(s, roce.OpWrite); s.settle(); ack(s, 1, bth.ACKUnlimited) }, endurance},
		"in the middle of READ": {func(s *siege) {
			long(s, roce.OpRead)
			s.settle()
			s.forged(bth.RCReadRespFirst, bthtest.PSN(s.firstPSN()), bthtest.AETH(bth.ACKUnlimited, 1), bthtest.Pattern(siegeMTU)).fire()
		}, endurance},
		"with an atomic under way": {func(s *siege) {
			s.victim.send(roce.SendWR{Op: roce.OpFetchAdd, SGE: s.victim.mr.SGE(0, 8), RemoteAddr: 0x1000, RKey: 1})
		}, endurance},
		"after an RNR NAK":     {func(s *siege) { long(s, roce.OpSend); s.settle(); ack(s, 0, bth.RNRNAK(20)) }, bth.RNRDelay(20) + endurance},
		"after a sequence NAK": {func(s *siege) { long(s, roce.OpSend); s.settle(); ack(s, 1, bth.NAKSequence) }, endurance * (tries - 1) / tries},
		"in the middle of SQD": {func(s *siege) {
			long(s, roce.OpSend)
			s.settle()
			require.NoError(s.t, s.victim.qp.Modify(roce.QPAttr{State: roce.StateSQD, NotifyDrained: true}, roce.AttrState|roce.AttrNotifyDrained))
			ack(s, 0, bth.ACKUnlimited)
		}, endurance},
		"in the middle of its own messages": {func(s *siege) {
			s.forged(bth.RCSendFirst, bthtest.PSN(enemyPSN), bthtest.Pattern(siegeMTU)).fire()
			s.settle()
			long(s, roce.OpSend)
		}, endurance},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, roce.WithRetry(patience, tries-1, 7))
			s.victim.recv(1, 0, 4096)
			c.before(s)
			last := s.arrival()
			s.victim.send(roce.SendWR{Op: roce.OpRead, SGE: s.victim.mr.SGE(0, 8)})
			statuses, at := s.end(3)
			require.Equal(t, last.Add(c.wait).String(), at.String())
			require.Equal(t, []roce.Status{roce.StatusRetryExceeded, roce.StatusFlushed, roce.StatusFlushed}, statuses, "two sends and the receive")
			require.Equal(t, roce.StateErr, s.victim.qp.State())
			s.business()
			s.unconcerned()
			require.NoError(t, s.victim.qp.Close())
		})
	}
}

// arrival runs the world until what is on its way to the victim has arrived, and returns
// when that was: now, if nothing is.
func (s *siege) arrival() clock.Time {
	s.t.Helper()
	now, before := s.world.Now(), s.tally.rules
	if s.world.Stats().InFlight() == 0 {
		return now
	}
	for s.tally.rules == before && s.world.Now() < now.Add(time.Millisecond) {
		_, err := s.world.Step()
		require.NoError(s.t, err)
	}
	if s.tally.rules == before {
		return now // only the victim's own packets were on their way
	}
	return s.world.Now()
}

// A peer that restarts and gets the number of its queue pair again, but other PSNs: what
// it says of its own numbers does not fit what is outstanding, and what it asks is not
// carried out.
func TestRestartedPeer(t *testing.T) {
	for name, off := range map[string]int32{"PSNs ahead": 1 << 20, "PSNs behind": -1 << 20, "half the circle": -1 << 23} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, roce.WithRetry(patience, tries-1, 7))
			s.victim.recv(1, 0, 64)
			s.victim.send(roce.SendWR{Op: roce.OpSend, SGE: s.victim.mr.SGE(0, 3*siegeMTU)})
			began := s.world.Now()
			memory := bytes.Clone(s.victim.mr.Bytes())
			theirs := enemyPSN.Add(uint32(off))
			waits := s.firstPSN().Add(uint32(off)) // for other requests than ours
			for i := range uint32(100) {
				fire(
					s.answer(bth.RCAcknowledge, waits, bth.NAKSequence),
					s.answer(bth.RCAcknowledge, waits, bth.ACKUnlimited),
					s.forged(bth.RCSendOnly, bthtest.PSN(theirs.Add(i)), bthtest.AckReq, bthtest.Pattern(8)),
					s.forged(bth.RCWriteOnly, bthtest.PSN(theirs.Add(i)), bthtest.AckReq, s.region(0, 8), bthtest.Pattern(8)),
					s.forged(bth.RCFetchAdd, bthtest.PSN(theirs.Add(i)), bthtest.AckReq, s.word(8)),
					s.forged(bth.RCReadRequest, bthtest.PSN(theirs.Add(i)), bthtest.AckReq, s.region(0, 8)))
				s.settle()
			}
			statuses, at := s.end(2)
			require.Equal(t, []roce.Status{roce.StatusRetryExceeded, roce.StatusFlushed}, statuses)
			require.Equal(t, began.Add(endurance).String(), at.String())
			require.Equal(t, memory, s.victim.mr.Bytes())
			st := s.victim.qp.Stats()
			require.Zero(t, st.Sends+st.Writes+st.Reads+st.Atomics)
			for _, p := range s.heard() {
				require.False(t, p.Opcode.Is(bth.Read|bth.Atomic) && p.Opcode.Is(bth.Response), "%s: nothing is read for it", p.Opcode)
			}
			s.business()
			s.unconcerned()
		})
	}
}

// TestTotalLoss proves R18: when nothing arrives any more, work of every kind, as much as
// the queue holds, signaled or not, completes after (retry count + 1) timeouts, to the
// nanosecond: the oldest with retry exceeded, the rest flushed. What is posted later is
// flushed at once.
func TestTotalLoss(t *testing.T) {
	kinds := map[string][]roce.Op{
		"SEND": {roce.OpSend}, "SEND imm": {roce.OpSendImm}, "WRITE": {roce.OpWrite}, "WRITE imm": {roce.OpWriteImm},
		"READ": {roce.OpRead}, "CmpSwap": {roce.OpCompareSwap}, "FetchAdd": {roce.OpFetchAdd}, "SEND inv": {roce.OpSendInv},
		"mixed": {
			roce.OpWrite, roce.OpBindMW, roce.OpRead, roce.OpSend, roce.OpFetchAdd, roce.OpSendInv, roce.OpLocalInv,
			roce.OpCompareSwap, roce.OpWriteImm, roce.OpSendImm,
		},
	}
	for name, ops := range kinds {
		for _, c := range []struct{ code, retries uint8 }{{1, 0}, {8, 3}, {14, 7}} {
			for _, flags := range []roce.SendFlags{0, roce.Signaled} {
				p := newPair(t, roce.WithRetry(c.code, c.retries, 7))
				p.world.Faults.Add(simnet.Partition("a", "b"))
				began := p.world.Now()
				for i := range roce.DefaultDepth {
					p.a.send(p.a.lost(ops[i%len(ops)], uint64(i), flags))
				}
				p.a.recv(1000, 0, 64)
				wcs := p.wait(p.a, roce.DefaultDepth+1)
				timeout := 4096 * time.Nanosecond << c.code
				require.Equal(t, began.Add(time.Duration(c.retries+1)*timeout).String(), p.world.Now().String(), name)
				want := roce.StatusRetryExceeded
				for i, wc := range wcs[:roce.DefaultDepth] {
					require.EqualValues(t, i, wc.ID, name)
					require.Equal(t, want, wc.Status, "%s %d", name, i)
					want = roce.StatusFlushed
				}
				require.EqualValues(t, 1000, wcs[roce.DefaultDepth].ID)
				p.a.send(p.a.lost(ops[0], 5, flags))
				p.a.recv(6, 0, 64)
				for _, wc := range p.wait(p.a, 2) {
					require.Equal(t, roce.StatusFlushed, wc.Status)
				}
				p.settle()
				require.Zero(t, p.a.cq.Poll(wcs), "%s: more completions than work", name)
			}
		}
	}
}

// lost is work of a kind that nobody will answer.
func (e *end) lost(op roce.Op, id uint64, flags roce.SendFlags) roce.SendWR {
	wr := roce.SendWR{ID: id, Op: op, Flags: flags, RemoteAddr: 0x1000, RKey: 1, SGE: e.mr.SGE(0, 8)}
	switch op {
	case roce.OpWrite, roce.OpSend, roce.OpRead:
		wr.SGE = e.mr.SGE(0, 3000)
	case roce.OpBindMW:
		w, m := e.window()
		wr = w.Bind(m, 0, 8, roce.AccessRemoteRead)
		wr.ID, wr.Flags = id, flags
	case roce.OpLocalInv:
		wr.SGE = roce.SGE{}
	}
	return wr
}

// Without a timeout work waits for ever, as was asked for, and closing ends it.
func TestTotalLossWithoutTimeout(t *testing.T) {
	for name, end := range map[string]func(p *pair) error{
		"ERR":    func(p *pair) error { return p.a.qp.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState) },
		"QP":     func(p *pair) error { return p.a.qp.Close() },
		"device": func(p *pair) error { return p.a.dev.Close() },
	} {
		p := newPair(t, roce.WithRetry(0, 7, 7))
		p.world.Faults.Add(simnet.Partition("a", "b"))
		for i := range roce.DefaultDepth {
			p.a.send(p.a.lost(roce.OpRead, uint64(i), 0))
		}
		require.NoError(t, p.world.Run(p.world.Now().Add(24*time.Hour)))
		require.Equal(t, roce.StateRTS, p.a.qp.State())
		require.NoError(t, end(p))
		if name == "ERR" {
			for _, wc := range p.wait(p.a, roce.DefaultDepth) {
				require.Equal(t, roce.StatusFlushed, wc.Status)
			}
		}
	}
}
