package rc_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestRNRWaitIsNeverShortened proves R07 in 10,000 runs: with acknowledgement timeouts
// from 8 µs to seconds and every RNR timer code, nothing at all is sent before the time in the
// NAK is over, whatever happens meanwhile: timers, newly posted work, copies of the NAK,
// sequence NAKs and old acknowledgements. Then everything is, and completes.
func TestRNRWaitIsNeverShortened(t *testing.T) {
	const runs, timeouts = 10_000, 20
	r := rand.New(rand.NewPCG(testenv.Seed(t), 7))
	for timeout := range timeouts {
		o := defaults()
		o.timeout = uint8(timeout)
		p := newPair(t, o)
		for range runs / timeouts {
			waitOut(p, r)
		}
	}
}

// waitOut has B find no receive for messages of A's, and disturbs A's wait in random ways.
func waitOut(p *pair, r *rand.Rand) {
	p.a.sends, p.b.recvs = nil, nil
	posted := 1 + r.IntN(3)
	p.sendsOf(qp.OpSend, posted)
	nak := p.b.say(p.a.drain()...)[0]
	require.True(p.t, nak.AETH.Syndrome.IsRNR())
	code := uint8(r.IntN(32))
	nak.AETH.Syndrome = bth.RNRNAK(code)
	require.Equal(p.t, transport.RuleRNR, p.a.recv(nak).Rule)
	over := p.now.Add(bth.RNRDelay(code))
	require.Equal(p.t, over, p.a.m.Deadline(), "nothing is due before: nobody has to look")
	for range r.IntN(12) {
		p.now += clock.Time(r.Int64N(int64(over - p.now)))
		p.a.m.Advance(p.now)
		switch r.IntN(5) {
		case 0:
			p.sendsOf(qp.OpSend, 1)
			p.a.m.Posted()
			posted++
		case 1:
			p.a.recv(nak)
		case 2:
			p.a.recv(withSyndrome(response(bth.RCAcknowledge, nak.PSN, 0), bth.NAKSequence))
		case 3:
			p.a.recv(response(bth.RCAcknowledge, nak.PSN.Sub(1), 0))
		}
		require.Empty(p.t, p.a.drain(), "code %d", code)
		require.Equal(p.t, transport.BlockedRNR, p.a.m.Why())
	}
	p.now = over - 1
	p.a.m.Advance(p.now)
	require.Empty(p.t, p.a.drain(), "code %d", code)
	for i := range posted {
		p.b.postRecv(uint64(i), 0, 8)
	}
	p.advance(p.a)
	require.Equal(p.t, over, p.now)
	p.settle()
	p.a.requireSends(ok(posted)...)
	p.b.requireRecvs(ok(posted)...)
}

// TestRNRForeverIsIdle proves R08 for a count of 7, and that waiting is never busy: in a
// minute without a receive there is one deadline, one packet and one NAK for each wait,
// and ERR still ends it.
func TestRNRForeverIsIdle(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.flow()
	waits := uint64(1)
	for ; p.now < clock.Time(time.Minute); waits++ {
		from := p.now
		p.advance(p.a)
		require.Equal(t, from.Add(bth.RNRDelay(14)), p.now)
		p.flow()
	}
	require.Greater(t, waits, uint64(40_000))
	require.Equal(t, waits, p.a.m.Stats().RNRWaits)
	require.Equal(t, waits, p.a.m.Stats().PacketsSent)
	require.Equal(t, waits, p.b.m.Stats().PacketsSent)
	require.Zero(t, p.a.m.Stats().Timeouts)
	require.Empty(t, p.a.sends)
	p.a.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	p.a.requireSends(cq.StatusFlushed)
	require.Equal(t, clock.Never, p.a.m.Deadline())
}

// TestRNRRetriesReload proves R08: the RNR count is per stretch without progress. Each of ten
// messages meets as many RNR NAKs as are allowed and goes through; one more NAK, and the
// message fails.
func TestRNRRetriesReload(t *testing.T) {
	const allowed = 3
	o := defaults()
	o.rnr = allowed
	p := newPair(t, o)
	for i := range 10 {
		p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
		for range allowed {
			p.flow()
			p.advance(p.a)
		}
		p.b.postRecv(uint64(i), 0, 10)
		p.flow()
		p.a.requireSends(ok(i + 1)...)
	}
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.settle()
	require.Equal(t, cq.StatusRNRRetryExceeded, p.a.sends[10].Status)
	require.EqualValues(t, 11*allowed, p.a.m.Stats().RNRWaits)
}

// TestSequenceNAKBehindRNR proves the quirk of rdma_rxe that each RNR NAK with traffic
// behind it is followed by a sequence NAK of the same PSN: that one is no loss. It costs no
// packet and no retry, not even when there are none.
func TestSequenceNAKBehindRNR(t *testing.T) {
	o := defaults()
	o.retry = 0
	p := newPair(t, o)
	p.sendsOf(qp.OpSend, 3)
	for range 20 {
		sent := p.a.drain()
		require.Len(t, sent, 3)
		rnr := p.b.say(sent...)
		require.Len(t, rnr, 1, "ours sends none")
		p.a.recv(rnr[0])
		v := p.a.recv(withSyndrome(response(bth.RCAcknowledge, rnr[0].PSN, 0), bth.NAKSequence))
		require.Equal(t, transport.Ignored, v.Action, "%s", v)
		require.Empty(t, p.a.drain())
		p.advance(p.a)
	}
	require.Equal(t, qp.StateRTS, p.a.m.State())
}
