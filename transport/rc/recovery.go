package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// recovery is what the requester needs to go back: three deadlines, two counters.
type recovery struct {
	timer    clock.Time // the acknowledgement timeout; Never: not running
	overdue  clock.Time // when the oldest unacknowledged packet is sent again early; Never: not running
	rnrUntil clock.Time // the end of an RNR wait; Never: not waiting

	retries    uint8 // left
	rnrRetries uint8 // left

	// goneBack: a retransmission has begun and nothing was acknowledged since.
	// Further NAKs belong to packets of the first transmission: only a timer may
	// go back again, else one loss would set off many retransmissions.
	goneBack bool
}

func (r *recovery) idle() {
	*r = recovery{timer: clock.Never, overdue: clock.Never, rnrUntil: clock.Never}
}

// reload sets the counters to their configured values.
func (r *recovery) reload(a *qp.Attr) {
	r.retries, r.rnrRetries = a.RetryCount, a.RNRRetry
}

// Deadline is when Advance has something to do.
func (m *Machine) Deadline() clock.Time {
	return min(m.timer, m.overdue, m.rnrUntil)
}

// Advance does what is due: the end of an RNR wait, and an acknowledgement timeout or an
// answer that is overdue.
func (m *Machine) Advance(now clock.Time) {
	if m.rnrUntil <= now {
		m.rnrUntil = clock.Never
	}
	switch {
	case m.timer <= now:
		m.timeout(now)
	case m.overdue <= now:
		m.hurry(now)
	}
}

// timeout goes back to the oldest unacknowledged packet (9.7.6.1.3).
func (m *Machine) timeout(now clock.Time) {
	m.timer = clock.Never
	m.stats.Timeouts++
	if m.retries == 0 {
		m.fail(cq.StatusRetryExceeded, transport.Verdict{Action: transport.Failed, Rule: transport.RuleRetryExceeded, PSN: m.unacked})
		return
	}
	m.retries--
	m.lost(now, transport.CauseTimeout)
}

// retry sends again because of a NAK, spoken or implied; again says what.
func (m *Machine) retry(
	now clock.Time, why transport.Cause, rule transport.Rule, again func(*Machine, clock.Time, transport.Cause),
) transport.Verdict {
	v := transport.Verdict{Action: transport.Advanced, Rule: rule, PSN: m.unacked}
	switch {
	case m.goneBack || m.rnrUntil != clock.Never:
		// An RNR wait is not shortened: peers follow an RNR NAK by a sequence NAK.
		v.Action, v.Rule = transport.Ignored, transport.RuleNAKAgain
	case m.phase.rereads():
		again(m, now, why) // counted when that began: a gap behind is of the same transmission
	case m.retries == 0:
		v.Action, v.Rule = transport.Failed, transport.RuleRetryExceeded
		m.fail(cq.StatusRetryExceeded, v)
	default:
		m.retries--
		again(m, now, why)
	}
	return v
}

// lost goes back after a loss.
func (m *Machine) lost(now clock.Time, why transport.Cause) {
	m.cc.Lost(now)
	m.goBack(why)
}

// goBack makes the oldest unacknowledged packet the next one to send (go-back-N).
// sentTo stays: acknowledgements of what was sent before still count.
func (m *Machine) goBack(why transport.Cause) {
	m.next, m.cursor = m.unacked, m.sq.Head()
	m.why = why
	m.goneBack = true
	m.phase, m.hadSent = onward, m.unacked
	m.timing = false
	m.lossy = m.lossy || why != transport.CauseRNR
	m.timer, m.overdue = clock.Never, clock.Never
}

// wait begins an RNR wait (9.7.5.2.8). The encoded time is a lower bound; neither
// the acknowledgement timer nor newly posted work shortens it. A peer that keeps has
// what came behind: only the packet that met no receive is sent again then.
func (m *Machine) wait(now clock.Time, p *bth.Packet) transport.Verdict {
	v := transport.Verdict{Action: transport.Advanced, Rule: transport.RuleRNR, PSN: p.PSN}
	switch {
	case m.rnrUntil != clock.Never: // the NAK of a packet that waits already
		v.Action, v.Rule = transport.Ignored, transport.RuleNAKAgain
		return v
	case m.rnrRetries == 0:
		v.Action, v.Rule = transport.Failed, transport.RuleRNRExceeded
		m.fail(cq.StatusRNRRetryExceeded, v)
		return v
	case m.attr.RNRRetry != retryForever:
		m.rnrRetries--
	}
	if m.keeps && !m.goesBackN() {
		m.resend(transport.CauseRNR, mending, 1)
	} else {
		m.goBack(transport.CauseRNR)
	}
	m.rnrUntil = now.Add(bth.RNRDelay(p.AETH.Syndrome.Value()))
	m.stats.RNRWaits++
	return v
}

// progressed tells that the oldest unacknowledged PSN moved on: retries begin
// anew, and so do the timers.
func (m *Machine) progressed(now clock.Time, packets int) {
	m.reload(&m.attr)
	m.goneBack = false
	m.timer, m.overdue = clock.Never, clock.Never
	m.executed, m.hadSent = laterOf(m.executed, m.unacked), laterOf(m.hadSent, m.unacked)
	m.cc.Acked(now, packets, m.sample(now, m.unacked))
	if m.next.Before(m.unacked) {
		// What was to be sent again has arrived after all.
		m.next, m.cursor = m.unacked, m.sq.Head()
	}
	m.learn(now)
	if m.unacked != m.next {
		m.startTimer(now)
	}
}

// startTimer starts the acknowledgement timer if it is not running, and so the early one.
func (m *Machine) startTimer(now clock.Time) {
	if t := ackTimeout(m.attr.Timeout); t != 0 && m.timer == clock.Never {
		m.timer = now.Add(t)
	}
	m.startEarlyTimer(now)
}
