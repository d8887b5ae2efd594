package rc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// TestLostRetransmission proves that what fills a gap is sent once more when the answer is
// overdue by the measured round trip, twice as late each time, without a retry; and that
// the acknowledgement timeout is where it was (9.7.6.1.3).
func TestLostRetransmission(t *testing.T) {
	p := keeper(t, 10)
	p.a.recv(nak(104))
	timeout := p.now.Add(4096 * time.Nanosecond << 14)
	require.Equal(t, psns(104, 1), p.a.sent())
	var waits []time.Duration
	for p.now < timeout {
		due := p.a.m.Deadline()
		waits = append(waits, due.Sub(p.now))
		p.later(due.Sub(p.now))
		p.a.drain()
	}
	require.Equal(t, timeout, p.now)
	require.EqualValues(t, 1, p.a.m.Stats().Timeouts)
	for i, w := range waits[:len(waits)-1] {
		require.Equal(t, waits[0]<<i, w)
	}
	require.Equal(t, 1100*time.Microsecond, waits[0])
	p.a.recv(ack(113))
	p.a.requireSends(ok(10)...)
}

// TestUnmeasuredGoesBack proves that all is sent again while nothing would tell of the
// loss of a single packet, or of its answer, but the acknowledgement timeout: a retry
// count of one would be used up.
func TestUnmeasuredGoesBack(t *testing.T) {
	for name, timeout := range map[string]uint8{"no round trip": 14, "a short timeout": 7, "no timeout": 0} {
		t.Run(name, func(t *testing.T) {
			o := defaults()
			o.timeout = timeout
			p := newPair(t, o)
			if timeout != 14 {
				p.sendsOf(qp.OpWrite, 1)
				p.a.drain()
				p.now = p.now.Add(100 * time.Microsecond)
				p.a.recv(ack(100))
			}
			p.sendsOf(qp.OpWrite, 4)
			first := p.a.sent()[0]
			for i := range 3 {
				p.a.recv(nak(first.Add(uint32(i))))
				require.Equal(t, psns(int(first)+i, 4-i), p.a.sent())
			}
		})
	}
}

// TestSlowerPeer proves that a peer which takes longer than it did is sent few packets
// twice: the wait is as long as the last one was, until a round trip was measured again
// (RFC 6298, 5.7).
func TestSlowerPeer(t *testing.T) {
	p := keeper(t, 1)
	p.a.recv(ack(104))
	p.a.recv(ack(104))
	before := p.a.m.Stats().Retransmitted
	for i := range 100 {
		p.sendsOf(qp.OpWrite, 1)
		p.a.drain()
		for answer := p.now.Add(20 * time.Millisecond); p.now < answer; {
			p.later(min(p.a.m.Deadline(), answer).Sub(p.now))
			p.a.drain()
		}
		p.a.recv(ack(bth.PSN(105 + i)))
	}
	require.LessOrEqual(t, p.a.m.Stats().Retransmitted-before, uint64(6))
	require.Zero(t, p.a.m.Stats().Timeouts)
}

// TestNothingEarlyWithoutLoss proves that a requester which has never met a loss sends
// nothing before the acknowledgement timeout, however late an answer is.
func TestNothingEarlyWithoutLoss(t *testing.T) {
	p := asker(t, 3)
	require.Equal(t, p.now.Add(4096*time.Nanosecond<<14), p.a.m.Deadline())
}

// TestKarn proves that what is sent again is not timed, although an acknowledgement came
// meanwhile: the answer may be that to the first transmission (Karn's algorithm).
func TestKarn(t *testing.T) {
	p := asker(t, 6)
	p.later(100 * time.Millisecond) // timeout
	p.a.recv(ack(100))              // late, of the first transmission
	require.Equal(t, psns(101, 5), p.a.sent())
	p.now = p.now.Add(time.Microsecond)
	p.a.recv(ack(105)) // of the first transmission too
	p.sendsOf(qp.OpWrite, 1)
	p.a.sent()
	require.Equal(t, 1100*time.Microsecond, p.a.m.Deadline().Sub(p.now))
}
