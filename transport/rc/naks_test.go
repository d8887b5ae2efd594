package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestFatalNAKAnywhere proves 9.9.2.4.2 on the requester's side: a fatal NAK completes what lies
// before its PSN, fails the message that has the PSN in any of its packets, and flushes what
// lies behind. Nothing is sent any more, and work posted later is flushed.
func TestFatalNAKAnywhere(t *testing.T) {
	for syndrome, status := range map[bth.Syndrome]cq.Status{
		bth.NAKInvalidRequest: cq.StatusRemoteInvalid, bth.NAKRemoteAccess: cq.StatusRemoteAccess, bth.NAKRemoteOperation: cq.StatusRemoteOperation,
	} {
		for at := range 9 {
			p := newPair(t, defaults())
			for _, n := range []int{0, 3 * testMTU, 1, 2 * testMTU, 2 * testMTU} { // PSNs 100, 101–103, 104, 105–106, 107–108
				p.a.post(p.ask(qp.OpWrite, 0, n))
			}
			p.a.drain()
			p.a.recv(withSyndrome(response(bth.RCAcknowledge, bth.PSN(100+at), 0), syndrome))
			done := []int{0, 1, 1, 1, 2, 3, 3, 4, 4}[at]
			want := append(ok(done), status)
			for len(want) < 5 {
				want = append(want, cq.StatusFlushed)
			}
			p.a.requireSends(want...)
			p.a.post(p.ask(qp.OpWrite, 0, 1))
			p.a.m.Posted()
			p.a.requireSends(append(want, cq.StatusFlushed)...)
			require.Empty(t, p.a.drain())
		}
	}
}

// TestRefusedAtOnce proves R12 for its whole kind: a request for memory that the peer may
// not touch is refused at its first packet, in the turn in which that comes, whatever its form
// and wherever in the message its fault lies; nothing is written, and no receive is used.
func TestRefusedAtOnce(t *testing.T) {
	faults := map[string]struct {
		change func(p *pair, wr *qp.SendWR)
		rule   transport.Rule
	}{
		"unknown key":    {func(_ *pair, wr *qp.SendWR) { wr.RKey ^= 1 }, transport.RuleKey},
		"other PD":       {func(p *pair, wr *qp.SendWR) { p.b.lend(wr, pd+1, allRight) }, transport.RulePD},
		"no right":       {func(p *pair, wr *qp.SendWR) { p.b.lend(wr, pd, mr.LocalWrite) }, transport.RuleAccess},
		"one too far":    {func(p *pair, wr *qp.SendWR) { wr.RemoteAddr = p.b.addr(memSize-int(wr.SGE.Len)) + 8 }, transport.RuleRange},
		"one too early":  {func(p *pair, wr *qp.SendWR) { wr.RemoteAddr = p.b.addr(0) - 8 }, transport.RuleRange},
		"around the end": {func(_ *pair, wr *qp.SendWR) { wr.RemoteAddr = ^uint64(0) - 7 + 8*uint64(wr.SGE.Len/16) }, transport.RuleRange},
	}
	for _, op := range []qp.Op{qp.OpWrite, qp.OpWriteImm, qp.OpRead, qp.OpFetchAdd, qp.OpCompareSwap} {
		for name, fault := range faults {
			for _, n := range []int{16, 3*testMTU + 8} {
				t.Run(fmt.Sprintf("%s of %d, %s", op, n, name), func(t *testing.T) {
					p := newPair(t, defaults())
					p.b.fill(0, memSize, 1)
					before := p.b.snapshot(0, memSize)
					p.b.postRecv(1, 0, 10)
					wr := p.ask(op, 0, n)
					fault.change(p, &wr)
					p.a.post(wr)
					p.a.post(p.ask(qp.OpSend, 0, 1))
					sent := p.a.drain()
					require.Equal(t, fault.rule, p.b.recv(sent[0]).Rule)
					naks := p.b.say(sent[1:]...)
					require.Len(t, naks, 1)
					require.Equal(t, bth.AETH{Syndrome: bth.NAKRemoteAccess}, naks[0].AETH)
					require.Equal(t, bth.PSN(100), naks[0].PSN)
					p.a.recv(naks[0])
					p.a.requireSends(cq.StatusRemoteAccess, cq.StatusFlushed)
					p.b.requireRecvs(cq.StatusFlushed)
					require.Equal(t, []transport.Event{transport.EventAccessError}, p.b.events)
					require.Equal(t, before, p.b.snapshot(0, memSize))
				})
			}
		}
	}
}

// lend aims a work request at a new region of the host's.
func (h *host) lend(wr *qp.SendWR, domain mr.PD, access mr.Access) {
	h.t.Helper()
	buf := make([]byte, 8192)
	r, err := h.table.Register(domain, buf, mr.Address(buf), access)
	require.NoError(h.t, err)
	wr.RemoteAddr, wr.RKey = r.Base(), r.LKey() // without a remote right it has no other key
}

// TestRepeatedSequenceNAKs proves R04 for NAKs: twenty that report the same gap set off
// one retransmission; those that follow it are left to the timer.
func TestRepeatedSequenceNAKs(t *testing.T) {
	p := newPair(t, defaults())
	for range 5 {
		p.a.post(p.ask(qp.OpWrite, 0, 10))
	}
	p.a.drain()
	nak := withSyndrome(response(bth.RCAcknowledge, 101, 0), bth.NAKSequence)
	for i := range 20 {
		v := p.a.recv(nak)
		require.Equal(t, i == 0, v.Rule == transport.RuleNAKSequence, "%s", v)
	}
	again := p.a.drain()
	require.Equal(t, bth.PSN(101), again[0].PSN)
	p.a.requireSends(ok(1)...)
	for range 20 {
		require.Equal(t, transport.RuleNAKAgain, p.a.recv(nak).Rule)
	}
	require.Empty(t, p.a.drain())
	p.advance(p.a)
	require.NotEmpty(t, p.a.drain())
}
