package rc_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestLossOfEachPacket loses every single packet of every operation in turn: data
// is exact, work completes once, and receives are used once.
func TestLossOfEachPacket(t *testing.T) {
	const n = 3*testMTU + 5
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm, qp.OpWrite, qp.OpWriteImm, qp.OpRead} {
		for lost := 1; lost <= 12; lost++ {
			t.Run(fmt.Sprintf("%s/%d", op, lost), func(t *testing.T) {
				p := newPair(t, defaults())
				p.lose = loseOnce(lost, func(*host, *packet) bool { return true })
				from, to := p.a, p.b
				if op == qp.OpRead {
					from, to = p.b, p.a
				}
				want := from.fill(0, n, byte(lost))
				p.b.postRecv(1, 500000, n)
				p.b.postRecv(2, 0, n)
				p.b.postRecv(3, 0, n)
				wr := qp.SendWR{Op: op, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
				// The first message lands elsewhere when it is a SEND; the second is the one looked at.
				p.a.post(wr)
				p.a.post(wr)
				p.settle()
				p.a.requireSends(ok(2)...)
				require.Equal(t, want, to.snapshot(0, n))
				switch op {
				case qp.OpSend, qp.OpSendImm, qp.OpWriteImm:
					p.b.requireRecvs(ok(2)...)
				}
			})
		}
	}
}

// TestLostAtomicAck proves R05: an atomic is executed once; its duplicate gets the
// saved result, also after other atomics; an evicted one is dropped.
func TestLostAtomicAck(t *testing.T) {
	o := defaults()
	o.initiator, o.response = 4, 4
	p := newPair(t, o)
	fadd := qp.SendWR{Op: qp.OpFetchAdd, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey(), Add: 1}
	p.a.post(fadd)
	first := p.a.drain()[0]
	p.b.recv(first)
	p.b.drain() // the answer is lost
	require.Equal(t, uint64(1), binary.NativeEndian.Uint64(p.b.bytes(0, 8)))
	for range 3 {
		v := p.b.recv(first)
		require.Equal(t, transport.Verdict{Action: transport.Repeated, Rule: transport.RuleDuplicateAtomic, PSN: 100}, v)
		again := p.b.drain()
		require.Len(t, again, 1)
		require.Equal(t, uint64(0), again[0].AtomicAck)
		require.Equal(t, uint32(1), again[0].AETH.MSN)
		require.Equal(t, transport.CauseReplay, again[0].why)
	}
	for i := range 4 { // four more fill the responder's four resources
		next := *first
		next.PSN = first.PSN.Add(uint32(i + 1))
		p.b.recv(&next)
		p.b.drain()
	}
	require.Equal(t, transport.RuleForgotten, p.b.recv(first).Rule)
	require.Empty(t, p.b.drain())
	require.Equal(t, uint64(5), binary.NativeEndian.Uint64(p.b.bytes(0, 8)))
}

// TestGap proves R01: one NAK for a gap, with the expected PSN and today's MSN; the
// requester takes what lies before as acknowledged and resends from there.
func TestGap(t *testing.T) {
	o := defaults()
	o.goBackN = true
	p := newPair(t, o)
	for i := range 6 {
		p.b.postRecv(uint64(i), 0, 10)
		p.a.post(qp.SendWR{ID: uint64(i), Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	}
	pkts := p.a.drain()
	for _, i := range []int{0, 1, 3, 4, 5} { // 102 lost
		p.b.recv(pkts[i])
	}
	naks := p.b.drain()
	require.Len(t, naks, 1)
	require.Equal(t, bth.AETH{Syndrome: bth.NAKSequence, MSN: 2}, naks[0].AETH)
	require.Equal(t, bth.PSN(102), naks[0].PSN)
	p.a.recv(naks[0])
	p.a.requireSends(ok(2)...)
	again := p.a.drain()
	require.Len(t, again, 4)
	require.Equal(t, bth.PSN(102), again[0].PSN)
	require.Equal(t, transport.CauseNAK, again[0].why)
	for _, pkt := range again {
		p.b.recv(pkt)
	}
	p.flow()
	p.a.requireSends(ok(6)...)
	p.b.requireRecvs(ok(6)...)
}

// TestHealedGap proves that a reordering inside one turn is not reported.
func TestHealedGap(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 3*testMTU)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 2*testMTU)})
	pkts := p.a.drain()
	p.b.recv(pkts[1])
	p.b.recv(pkts[0])
	require.Empty(t, p.b.drain(), "the gap was filled before the NAK went out")
	p.settle()
	p.a.requireSends(ok(1)...)
}

// TestAckOverRead proves R02: an ACK that passes over an unanswered READ is an
// implied NAK; the READ is asked for again and order is kept.
func TestAckOverRead(t *testing.T) {
	p := newPair(t, defaults())
	want := p.b.fill(0, 100, 9)
	remote := qp.SendWR{RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey(), SGE: p.a.sge(0, 100)}
	w1, r, w2 := remote, remote, remote
	w1.ID, w1.Op, w1.RemoteAddr = 40, qp.OpWrite, p.b.addr(5000)
	r.ID, r.Op, r.SGE = 41, qp.OpRead, p.a.sge(500, 100)
	w2.ID, w2.Op, w2.RemoteAddr = 42, qp.OpWrite, p.b.addr(6000)
	for _, wr := range []qp.SendWR{w1, r, w2} {
		p.a.post(wr)
	}
	for _, pkt := range p.a.drain() {
		p.b.recv(pkt)
	}
	answers := p.b.drain()
	require.Equal(t, bth.RCReadRespOnly, answers[0].Opcode)
	require.Equal(t, bth.RCAcknowledge, answers[1].Opcode)
	require.Equal(t, transport.RuleImpliedNAK, p.a.recv(answers[1]).Rule)
	p.a.requireSends(ok(1)...)
	again := p.a.drain()
	require.Equal(t, bth.RCReadRequest, again[0].Opcode)
	require.Equal(t, transport.CauseImpliedNAK, again[0].why)
	for _, pkt := range again {
		p.b.recv(pkt)
	}
	p.settle()
	p.a.requireSends(ok(3)...)
	for i, wc := range p.a.sends {
		require.Equal(t, uint64(40+i), wc.ID)
	}
	require.Equal(t, want, p.a.snapshot(500, 100))
}

// TestRetryStorm proves R04: one loss sets off one retransmission at once; only
// the timer may start another.
func TestRetryStorm(t *testing.T) {
	o := defaults()
	o.goBackN = true
	p := newPair(t, o)
	const n = 20 * testMTU
	want := p.b.fill(0, n, 1)
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	for _, pkt := range p.a.drain() {
		p.b.recv(pkt)
	}
	answers := p.b.drain()
	require.Len(t, answers, 20)
	p.a.recv(answers[0])
	require.Equal(t, transport.RuleReadGap, p.a.recv(answers[2]).Rule)
	require.Len(t, p.a.drain(), 1)
	for _, pkt := range answers[3:] {
		require.Equal(t, transport.RuleNAKAgain, p.a.recv(pkt).Rule)
	}
	require.Empty(t, p.a.drain())
	p.settle()
	require.Equal(t, uint64(1), p.a.m.Stats().Timeouts, "the retry's request was lost: one timeout")
	require.Equal(t, want, p.a.snapshot(0, n))
}

// TestReadRestart proves that the rest of a READ is asked for at the first missing
// PSN, and that both forms of answer are taken: begun anew, or gone on with.
func TestReadRestart(t *testing.T) {
	for _, continued := range []bool{false, true} {
		t.Run(fmt.Sprintf("continued=%v", continued), func(t *testing.T) {
			p := newPair(t, defaults())
			const n = 4*testMTU + 9
			want := p.b.fill(0, n, 1)
			p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
			p.b.recv(p.a.drain()[0])
			answers := p.b.drain()
			p.a.recv(answers[0])
			p.a.recv(answers[1])
			p.a.recv(answers[4]) // 102 and 103 lost
			again := p.a.drain()
			require.Len(t, again, 1)
			require.Equal(t, bth.PSN(102), again[0].PSN)
			require.Equal(t, bth.RETH{VA: p.b.addr(2 * testMTU), RKey: uint32(p.b.mem.RKey()), Len: n - 2*testMTU}, again[0].RETH)
			p.b.recv(again[0])
			repeated := p.b.drain()
			require.Len(t, repeated, 3)
			require.Equal(t, bth.RCReadRespFirst, repeated[0].Opcode)
			for i, pkt := range repeated {
				if continued {
					pkt.Opcode = answers[2+i].Opcode
				}
				p.a.recv(pkt)
			}
			p.a.requireSends(ok(1)...)
			require.Equal(t, want, p.a.snapshot(0, n))
		})
	}
}

// TestWriteRestart proves R27: a WRITE resumed in the middle repeats Middle and
// Last, without a RETH, and its data lands where it belongs.
func TestWriteRestart(t *testing.T) {
	o := defaults()
	o.goBackN = true
	p := newPair(t, o)
	const n = 5 * testMTU
	want := p.a.fill(0, n, 1)
	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	pkts := p.a.drain()
	for _, i := range []int{0, 1, 3} {
		p.b.recv(pkts[i])
	}
	p.a.recv(p.b.drain()[0])
	again := p.a.drain()
	var ops []bth.Opcode
	for _, pkt := range again {
		ops = append(ops, pkt.Opcode)
		p.b.recv(pkt)
	}
	require.Equal(t, []bth.Opcode{bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast}, ops)
	require.Equal(t, want, p.b.snapshot(0, n))
}

// TestTimeouts proves that retry_cnt counts transmissions without progress, that
// the error comes after the last timeout, and that 0 means no timeout at all (M05).
func TestTimeouts(t *testing.T) {
	for _, retries := range []uint8{0, 1, 3, 7} {
		o := defaults()
		o.retry, o.goBackN = retries, true
		p := newPair(t, o)
		sent := 0
		p.lose = func(_ *host, pkt *packet) bool {
			if pkt.PSN == o.psnA {
				sent++
			}
			return true
		}
		p.a.post(qp.SendWR{ID: 1, Op: qp.OpWrite, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
		p.a.post(qp.SendWR{ID: 2, Op: qp.OpWrite, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
		p.settle()
		p.a.requireSends(cq.StatusRetryExceeded, cq.StatusFlushed)
		require.Equal(t, int(retries)+1, sent, "retry_cnt %d", retries)
		require.Equal(t, clock.Time(time.Duration(retries+1)*4096*time.Nanosecond<<14), p.now)
		require.Equal(t, qp.StateErr, p.a.m.State())
	}
	o := defaults()
	o.timeout = 0
	p := newPair(t, o)
	p.lose = func(*host, *packet) bool { return true }
	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.flow()
	require.Equal(t, clock.Never, p.a.m.Deadline())
}

// TestNoSpuriousTimeout proves R11: progress restarts the timer, also inside a READ.
func TestNoSpuriousTimeout(t *testing.T) {
	p := newPair(t, defaults())
	const n = 100 * testMTU
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.b.recv(p.a.drain()[0])
	for _, pkt := range p.b.drain() {
		p.now = p.now.Add(60 * time.Millisecond) // less than the timeout of 67 ms
		p.a.m.Advance(p.now)
		p.a.recv(pkt)
	}
	p.a.requireSends(ok(1)...)
	require.Zero(t, p.a.m.Stats().Timeouts)
	require.Equal(t, clock.Never, p.a.m.Deadline(), "nothing outstanding, no timer")
}

// TestRNR proves R07: the wait is not shortened by the timer, by posting, or by the
// sequence NAK that some peers send after it; the SEND then completes.
func TestRNR(t *testing.T) {
	o := defaults()
	o.timeout = 1 // 8 µs, far less than the RNR delay of 1.28 ms
	p := newPair(t, o)
	for range 3 {
		p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	}
	for _, pkt := range p.a.drain() {
		p.b.recv(pkt)
	}
	naks := p.b.drain()
	require.Len(t, naks, 1, "one NAK, though packets followed")
	require.Equal(t, bth.RNRNAK(14), naks[0].AETH.Syndrome)
	p.a.recv(naks[0])
	stale := *naks[0]
	stale.AETH.Syndrome = bth.NAKSequence
	require.Equal(t, transport.RuleNAKAgain, p.a.recv(&stale).Rule)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	for p.now < clock.Time(1279*time.Microsecond) {
		p.now = p.now.Add(time.Microsecond)
		p.a.m.Advance(p.now)
		require.Empty(t, p.a.drain(), "resent after %v", p.now)
	}
	for i := range 4 {
		p.b.postRecv(uint64(i), 0, 10)
	}
	p.settle()
	p.a.requireSends(ok(4)...)
	p.b.requireRecvs(ok(4)...)
}

// TestRNRAfterGoingBack proves that an RNR NAK of the first transmission is obeyed
// also when a timeout has gone back meanwhile, and that its copy changes nothing.
func TestRNRAfterGoingBack(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.b.recv(p.a.next())
	nak := p.b.next()
	p.now = p.a.m.Deadline()
	p.a.m.Advance(p.now)
	require.Equal(t, transport.RuleRNR, p.a.recv(nak).Rule)
	require.Equal(t, transport.RuleNAKAgain, p.a.recv(nak).Rule)
	require.Empty(t, p.a.drain(), "it waits")
	require.Equal(t, p.now.Add(bth.RNRDelay(14)), p.a.m.Deadline())
}

// TestRNRRetry proves R08: 0, 3 and 7 retries after RNR NAKs.
func TestRNRRetry(t *testing.T) {
	for _, retries := range []uint8{0, 3} {
		o := defaults()
		o.rnr = retries
		p := newPair(t, o)
		sent := 0
		p.lose = func(from *host, _ *packet) bool {
			if from == p.a {
				sent++
			}
			return false
		}
		p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
		p.settle()
		p.a.requireSends(cq.StatusRNRRetryExceeded)
		require.Equal(t, int(retries)+1, sent)
		require.Equal(t, qp.StateRTS, p.b.m.State(), "the responder lives on")
	}
	p := newPair(t, defaults())
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	for range 1000 {
		p.flow()
		p.now = p.a.m.Deadline()
		p.a.m.Advance(p.now)
	}
	require.Equal(t, qp.StateRTS, p.a.m.State(), "7 is for ever")
	a := qp.Attr{State: qp.StateRTS, RNRRetry: 8}
	require.Error(t, qp.CheckModify(qp.StateRTR, &a, qp.MaskState|qp.MaskSQPSN|qp.MaskTimeout|qp.MaskRetryCount|qp.MaskRNRRetry|qp.MaskMaxRdAtomic))
}

// TestWriteImmRNR proves that a WRITE with immediate meets a missing receive only
// at its last packet: the data before is placed and stays acknowledged.
func TestWriteImmRNR(t *testing.T) {
	p := newPair(t, defaults())
	const n = 3 * testMTU
	want := p.a.fill(0, n, 1)
	p.a.post(qp.SendWR{Op: qp.OpWriteImm, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.flow()
	require.Equal(t, want[:2*testMTU], p.b.snapshot(0, 2*testMTU))
	require.Zero(t, p.b.m.Stats().Duplicates)
	p.b.postRecv(1, 500000, 1)
	p.settle()
	p.a.requireSends(ok(1)...)
	require.Equal(t, want, p.b.snapshot(0, n))
	require.Equal(t, uint64(1), p.a.m.Stats().Retransmitted, "only the last packet again")
}

// TestGoodAckAfterGoingBack proves that acknowledgements of the first transmission
// count after the requester went back: what they cover is not sent again.
func TestGoodAckAfterGoingBack(t *testing.T) {
	p := newPair(t, defaults())
	for i := range 8 {
		p.b.postRecv(uint64(i), 0, 10)
		p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	}
	for _, pkt := range p.a.drain() {
		p.b.recv(pkt)
	}
	late := p.b.drain()[0]
	p.now = p.a.m.Deadline()
	p.a.m.Advance(p.now)
	require.Equal(t, bth.PSN(100), p.a.next().PSN)
	require.Equal(t, transport.RuleAck, p.a.recv(late).Rule)
	p.a.requireSends(ok(8)...)
	require.Empty(t, p.a.drain())
}

// TestWindowAsksForAck proves that the packet that closes a window asks for an
// acknowledgement, however small losses have made it.
func TestWindowAsksForAck(t *testing.T) {
	p := newPair(t, defaults())
	lost := 0
	p.lose = func(from *host, _ *packet) bool { lost++; return from == p.a && lost < 250 }
	const n = 200 * testMTU
	want := p.a.fill(0, n, 3)
	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.settle()
	p.a.requireSends(ok(1)...)
	require.Equal(t, want, p.b.snapshot(0, n))
	require.LessOrEqual(t, p.a.m.Stats().Timeouts, uint64(7), "timeouts only while all is lost")
}
