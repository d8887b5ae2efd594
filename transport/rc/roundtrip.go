package rc

import (
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/transport"
)

// A peer reports a gap once. If what fills it is lost again, or nothing came behind it,
// only a timer helps; and the acknowledgement timeout is long, for it must fit peers that
// take their time. So the round trip is measured (RFC 6298), and once something was lost
// on a connection, what is overdue is sent again early, whether the peer keeps what comes
// behind a gap or not. That is no retry: it counts none, and the acknowledgement timer
// runs on (9.7.6.1.3).

// granularity is the least variation of the round trip that is assumed, as RFC 9002,
// 6.1.2 recommends: schedulers delay an answer by as much.
const granularity = time.Millisecond

// roundTrip measures one packet at a time, and none while anything is sent again: its
// answer would be ambiguous (Karn's algorithm).
type roundTrip struct {
	smoothed, variation time.Duration // smoothed 0: not measured yet

	timing bool
	timed  bth.PSN
	sentAt clock.Time

	lossy    bool // something was lost on this connection
	expiries uint // of the early timer, since a round trip was measured or the peer reported a gap
}

// measure begins a measurement with a packet that has to be answered.
func (r *roundTrip) measure(now clock.Time, psn bth.PSN) {
	if !r.timing {
		r.timing, r.timed, r.sentAt = true, psn, now
	}
}

// sample ends the measurement if the packet lies before psn, up to which everything is
// acknowledged, and returns the round trip, or 0.
func (r *roundTrip) sample(now clock.Time, psn bth.PSN) time.Duration {
	if !r.timing || !r.timed.Before(psn) {
		return 0
	}
	r.timing, r.expiries = false, 0
	rtt := max(now.Sub(r.sentAt), 1)
	if r.smoothed == 0 {
		r.smoothed, r.variation = rtt, rtt/2
	} else {
		r.variation += ((r.smoothed - rtt).Abs() - r.variation) / 4
		r.smoothed += (rtt - r.smoothed) / 8
	}
	return rtt
}

// patience is how long an answer may take before it is overdue, if it is the first one
// that does.
func (r *roundTrip) patience() time.Duration { return r.smoothed + max(4*r.variation, granularity) }

// measured reports whether what is overdue can be told before the acknowledgement
// timeout. A queue pair without one has nothing sent again by time at all.
func (m *Machine) measured() bool {
	return m.smoothed != 0 && m.patience() < ackTimeout(m.attr.Timeout)
}

// startEarlyTimer starts the timer for what is overdue, if it is not running. It waits
// twice as long after each expiry. While nothing was ever lost it is not worth a packet
// that some scheduler was late.
func (m *Machine) startEarlyTimer(now clock.Time) {
	if m.overdue == clock.Never && m.lossy && !m.goesBackN() {
		m.overdue = now.Add(m.patience() << min(m.expiries, 10))
	}
}

// hurry sends the oldest unacknowledged packet again, for its answer is overdue. If all is
// being sent again anyhow, that begins anew. A probe that nobody answers says nothing of
// the peer: then all is sent again.
func (m *Machine) hurry(now clock.Time) {
	timer := m.timer
	m.expiries++
	switch {
	case m.phase == probing:
		m.lost(now, transport.CauseOverdue)
	case m.phase == onward && m.next.Before(m.sentTo):
		m.goBack(transport.CauseOverdue)
	default:
		m.resend(transport.CauseOverdue, mending, 1)
	}
	m.timer = timer
}
