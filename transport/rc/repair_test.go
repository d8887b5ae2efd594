package rc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

func ack(psn bth.PSN) *packet { return response(bth.RCAcknowledge, psn, 0) }

func nak(psn bth.PSN) *packet { return withSyndrome(ack(psn), bth.NAKSequence) }

// sent is the PSNs of what the host sends now.
func (h *host) sent() (list []bth.PSN) {
	for _, p := range h.drain() {
		list = append(list, p.PSN)
	}
	return list
}

func psns(from, n int) (list []bth.PSN) {
	for i := range n {
		list = append(list, bth.PSN(from+i))
	}
	return list
}

// asker is a host A that has sent n one-packet WRITEs from PSN 100 on; the test is its
// peer. It has measured a round trip of 100 µs.
func asker(t *testing.T, n int) *pair {
	o := defaults()
	o.psnA = 99
	p := newPair(t, o)
	p.sendsOf(qp.OpWrite, 1)
	require.Equal(t, psns(99, 1), p.a.sent())
	p.now = p.now.Add(100 * time.Microsecond)
	p.a.recv(ack(99))
	p.sendsOf(qp.OpWrite, n)
	require.Equal(t, psns(100, n), p.a.sent())
	p.a.sends = nil
	return p
}

// keeper is an asker from PSN 104 on whose peer is known to keep: PSN 100 was lost, and
// filled the gap.
func keeper(t *testing.T, n int) *pair {
	p := asker(t, 4)
	p.a.gives(nak(100))
	p.a.drain()
	p.a.gives(ack(103))
	p.sendsOf(qp.OpWrite, n)
	require.Equal(t, psns(104, n), p.a.sent())
	p.a.sends = nil
	return p
}

// later moves the time and lets what is due happen.
func (p *pair) later(d time.Duration) {
	p.now = p.now.Add(d)
	p.a.m.Advance(p.now)
}

// TestFindsOutWhetherPeerKeeps proves how a requester learns that its peer keeps: the missing packet goes
// alone, with A=1, and the answer acknowledges more. What was sent before is not sent
// again then, nor after the next loss.
func TestFindsOutWhetherPeerKeeps(t *testing.T) {
	p := asker(t, 10)
	require.Equal(t, transport.RuleNAKSequence, p.a.recv(nak(102)).Rule)
	probe := p.a.drain()
	require.Len(t, probe, 1)
	require.Equal(t, bth.PSN(102), probe[0].PSN)
	require.True(t, probe[0].AckReq)
	require.Equal(t, transport.CauseNAK, probe[0].why)
	require.Equal(t, transport.BlockedProbe, p.a.m.Why())
	p.sendsOf(qp.OpWrite, 1)
	require.Empty(t, p.a.drain(), "it waits")

	p.a.recv(ack(109))
	require.Equal(t, psns(110, 1), p.a.sent())
	p.sendsOf(qp.OpWrite, 2)
	p.a.recv(nak(110))
	require.Equal(t, []bth.PSN{110, 111, 112}, p.a.sent(), "what is missing, and what is new")
	p.a.recv(ack(112))
	p.a.requireSends(ok(13)...)
	require.EqualValues(t, 2, p.a.m.Stats().Retransmitted)
}

// TestProbeAnsweredByNAK proves that a NAK of a later gap is an answer too, and that this
// gap is filled at once.
func TestProbeAnsweredByNAK(t *testing.T) {
	p := asker(t, 10)
	p.a.recv(nak(102))
	p.a.drain()
	p.a.recv(nak(106))
	require.Equal(t, psns(106, 1), p.a.sent())
	p.a.recv(ack(109))
	p.a.requireSends(ok(10)...)
}

// TestPeerDoesNotKeep proves that all is sent again to a peer that acknowledges the probe
// alone, and that probes are sent at the first, second, fourth, eighth … loss only.
func TestPeerDoesNotKeep(t *testing.T) {
	p := asker(t, 0)
	var probed []int
	next := bth.PSN(100)
	for loss := 1; loss <= 20; loss++ {
		p.sendsOf(qp.OpWrite, 2)
		p.a.drain()
		p.a.recv(nak(next))
		again := p.a.sent()
		require.Equal(t, next, again[0])
		if p.a.m.Why() == transport.BlockedProbe {
			probed = append(probed, loss)
		}
		for end := next.Add(2); next != end; again = p.a.sent() {
			next = next.Add(uint32(len(again)))
			p.a.recv(ack(next.Sub(1)))
		}
	}
	require.Equal(t, []int{1, 2, 4, 8, 16}, probed)
	p.a.requireSends(ok(40)...)
}

// TestRunEndsWithRead proves that a run which a READ or an atomic ends is followed by more
// when that is answered: there is no acknowledgement to wait for.
func TestRunEndsWithRead(t *testing.T) {
	p := keeper(t, 0)
	p.sendsOf(qp.OpWrite, 1)
	p.sendsOf(qp.OpFetchAdd, 1)
	p.sendsOf(qp.OpWrite, 2)
	p.a.drain()
	p.a.gives(ack(104), nak(105))
	require.Equal(t, psns(105, 1), p.a.sent())
	p.a.recv(response(bth.RCAtomicAck, 105, 0))
	require.Equal(t, psns(106, 2), p.a.sent())
	p.a.recv(ack(107))
	p.a.requireSends(ok(4)...)
}

// TestUnansweredProbe proves that a probe without an answer costs no more than an answer
// that is overdue: all is sent again, and no retry is counted.
func TestUnansweredProbe(t *testing.T) {
	p := asker(t, 5)
	p.a.gives(ack(100), nak(101))
	require.Equal(t, psns(101, 1), p.a.sent())
	p.later(4 * time.Millisecond)
	require.Equal(t, psns(101, 4), p.a.sent())
	require.Zero(t, p.a.m.Stats().Timeouts)
}

// TestRuns proves that a burst of losses takes few round trips: where one gap follows on
// the other, twice as much is sent again each time.
func TestRuns(t *testing.T) {
	p := keeper(t, 30) // the peer has 120 to 133
	var runs [][]bth.PSN
	for next := bth.PSN(104); next < 120; {
		p.a.recv(nak(next))
		run := p.a.sent()
		runs = append(runs, run)
		next = next.Add(uint32(len(run)))
	}
	require.Equal(t, [][]bth.PSN{psns(104, 1), psns(105, 2), psns(107, 4), psns(111, 8), psns(119, 15)}, runs)
	p.a.recv(ack(133))
	p.a.requireSends(ok(30)...)

	p.sendsOf(qp.OpWrite, 10)
	p.a.drain()
	p.a.recv(nak(135))
	require.Equal(t, psns(135, 1), p.a.sent(), "a gap elsewhere begins with one packet")
}

// TestPeerStopsKeeping proves that go-back-N is back when a peer keeps no more, at the
// latest after 31 packets.
func TestPeerStopsKeeping(t *testing.T) {
	p := keeper(t, 60)
	next := 104
	for _, n := range []int{1, 2, 4, 8, 16} {
		p.a.recv(nak(bth.PSN(next)))
		require.Equal(t, psns(next, n), p.a.sent())
		next += n
	}
	p.a.recv(nak(bth.PSN(next)))
	for next < 164 {
		again := p.a.sent() // as much as the window takes
		require.NotEmpty(t, again)
		require.Equal(t, psns(next, len(again)), again)
		next += len(again)
		p.a.recv(ack(bth.PSN(next - 1)))
	}
	p.a.requireSends(ok(60)...)
}

// TestLostTail proves that a loss at the end, behind which nothing comes that could tell,
// is mended as fast as one in the middle: first one packet, then, as the answer ends
// there, more.
func TestLostTail(t *testing.T) {
	p := keeper(t, 10)
	p.a.recv(ack(106))
	p.later(p.a.m.Deadline().Sub(p.now))
	require.Equal(t, psns(107, 1), p.a.sent())
	p.a.recv(ack(107))
	require.Equal(t, psns(108, 2), p.a.sent())
	p.a.recv(ack(109))
	require.Equal(t, psns(110, 4), p.a.sent())
	p.a.recv(ack(113))
	p.a.requireSends(ok(10)...)
	require.Zero(t, p.a.m.Stats().Timeouts)
}

// TestLostTailToStranger proves the same for a peer that is not known to keep, once there
// was a loss: all that follows is sent at once.
func TestLostTailToStranger(t *testing.T) {
	p := asker(t, 10)
	p.a.recv(nak(100))
	p.a.drain()
	p.a.recv(ack(100))
	p.a.drain()
	p.a.recv(ack(102))
	p.later(p.a.m.Deadline().Sub(p.now))
	require.Equal(t, psns(103, 1), p.a.sent())
	p.a.recv(ack(103))
	require.Equal(t, psns(104, 6), p.a.sent())
}

// TestProbeShowsMore proves that the answer to a probe is followed by what it shows to be
// missing at the end: nothing comes behind that could tell.
func TestProbeShowsMore(t *testing.T) {
	p := asker(t, 10)
	p.a.recv(nak(102))
	require.Equal(t, psns(102, 1), p.a.sent())
	p.a.recv(ack(106))
	require.Equal(t, psns(107, 1), p.a.sent())
	p.a.recv(ack(107))
	require.Equal(t, psns(108, 2), p.a.sent())
	p.a.recv(ack(109))
	p.a.requireSends(ok(10)...)
}

// TestNotReadyKeeps proves that only the SEND that met no receive is sent again to a peer
// that keeps, after the wait (9.7.5.2.8).
func TestNotReadyKeeps(t *testing.T) {
	p := keeper(t, 5)
	p.a.recv(withSyndrome(ack(105), bth.RNRNAK(1)))
	require.Empty(t, p.a.drain())
	p.later(bth.RNRDelay(1))
	require.Equal(t, psns(105, 1), p.a.sent())
	p.a.recv(ack(108))
	p.a.requireSends(ok(5)...)
}

// TestRetriesWhenAllIsLost proves that mending leaves the bound alone within which a
// request fails: retry_cnt + 1 timeouts (9.7.6.1.3).
func TestRetriesWhenAllIsLost(t *testing.T) {
	p := keeper(t, 10)
	start := p.now
	p.lose = func(*host, *packet) bool { return true }
	p.a.recv(ack(104))
	p.settle()
	require.Equal(t, []cq.Status{cq.StatusSuccess, cq.StatusRetryExceeded}, statuses(p.a.sends)[:2])
	require.Equal(t, 8*(4096*time.Nanosecond<<14), p.now.Sub(start))
}

// TestReadsAskedAgain proves that an acknowledgement which passes over a READ has that
// asked for again and nothing else: what came after was executed (9.7.5.1.2).
func TestReadsAskedAgain(t *testing.T) {
	p := newPair(t, defaults())
	read := qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
	p.sendsOf(qp.OpWrite, 1)
	p.a.post(read)
	p.sendsOf(qp.OpWrite, 2)
	p.a.post(read)
	p.sendsOf(qp.OpWrite, 2)
	require.Equal(t, psns(100, 7), p.a.sent())
	require.Equal(t, transport.RuleImpliedNAK, p.a.recv(ack(103)).Rule)
	require.Equal(t, []bth.PSN{101, 104}, p.a.sent())
	require.Equal(t, transport.RuleNAKAgain, p.a.recv(ack(106)).Rule)
	require.Empty(t, p.a.drain())
	p.a.gives(response(bth.RCReadRespOnly, 101, 8), response(bth.RCReadRespOnly, 104, 8), ack(106))
	p.a.requireSends(ok(7)...)
}

// TestExecutedBehindRead proves that what an acknowledgement said to be executed behind
// an unanswered READ completes with that: the peer does not say it twice.
func TestExecutedBehindRead(t *testing.T) {
	for _, op := range []qp.Op{qp.OpRead, qp.OpFetchAdd} {
		p := asker(t, 0)
		p.sendsOf(op, 1)
		p.sendsOf(qp.OpWrite, 3)
		p.sendsOf(op, 1)
		p.sendsOf(qp.OpWrite, 3)
		p.a.drain()
		p.a.gives(ack(102), ack(105))
		require.Equal(t, []bth.PSN{100, 104}, p.a.sent())
		require.Empty(t, p.a.sends)
		answer := map[qp.Op]bth.Opcode{qp.OpRead: bth.RCReadRespOnly, qp.OpFetchAdd: bth.RCAtomicAck}[op]
		n := map[qp.Op]int{qp.OpRead: 8}[op]
		p.a.recv(response(answer, 100, n))
		p.a.requireSends(ok(4)...)
		p.a.recv(response(answer, 104, n))
		p.a.requireSends(ok(6)...)
		require.Empty(t, p.a.drain())
		p.a.recv(ack(107))
		p.a.requireSends(ok(8)...)
		require.Equal(t, clock.Never, p.a.m.Deadline())
	}
}

// TestGapBehindUnansweredRead proves that a NAK of a gap behind READs that are being asked
// for again is not taken for one of those: all is sent again. It was one transmission, and
// counts one retry.
func TestGapBehindUnansweredRead(t *testing.T) {
	p := asker(t, 0)
	p.a.modify(qp.Attr{State: qp.StateSQD}, qp.MaskState)
	p.a.modify(qp.Attr{RetryCount: 1}, qp.MaskRetryCount)
	p.a.modify(qp.Attr{State: qp.StateRTS}, qp.MaskState)
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.sendsOf(qp.OpWrite, 4)
	p.a.drain()
	p.a.recv(ack(101))
	require.Equal(t, psns(100, 1), p.a.sent())
	require.Equal(t, transport.RuleImpliedNAK, p.a.recv(nak(103)).Rule)
	require.Equal(t, psns(100, 5), p.a.sent())
}

// TestTwiceTheWindow proves that one gap does not stop a full window: as much again may be
// sent until it is filled, and no more.
func TestTwiceTheWindow(t *testing.T) {
	p := keeper(t, 1)
	p.a.recv(ack(104))
	p.sendsOf(qp.OpWrite, 400)
	first := len(p.a.sent())
	require.InDelta(t, 64, first, 2, "it halved at the first loss")
	p.a.recv(nak(105))
	again := len(p.a.sent())
	require.InDelta(t, first, again, 2)
	require.Equal(t, transport.BlockedWindow, p.a.m.Why())
}

// TestGhostsWhileMending proves that answers to what was completed or never sent change
// nothing while a probe or a gap is waited for (ghosts).
func TestGhostsWhileMending(t *testing.T) {
	p := asker(t, 6)
	p.a.recv(nak(102))
	p.a.drain()
	for _, ghost := range []*packet{ack(101), nak(101), ack(106), nak(106), ack(500), nak(102)} {
		require.Equal(t, transport.Ignored, p.a.recv(ghost).Action, "%v", ghost)
		require.Empty(t, p.a.drain())
	}
	p.a.recv(ack(105))
	p.a.requireSends(ok(6)...)
	require.Equal(t, clock.Never, p.a.m.Deadline())
}
