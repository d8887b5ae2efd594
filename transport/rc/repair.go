package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// After a gap a peer may have dropped what came behind it, as most do, or kept it, as
// this one does (reorder.go). The requester finds out: it sends the missing packet alone
// and waits for the answer. If that acknowledges more (9.7.5.1.2), the peer keeps, and from
// then on only what is missing is sent again: that packet, and then what was never sent.
// If not, all is sent again from there on (go-back-N), and the question is put at rarer
// and rarer losses.
//
// A NAK names one gap (9.7.5.2.1), and the next one comes behind what fills that. So that a
// burst of losses takes not as many round trips as it has packets, each gap that begins
// where the last run ended has twice as many packets sent again.

// longestRun is the most packets that are sent again for one NAK.
const longestRun = 16

// repair is what the requester knows of its peer, and how far a retransmission is.
type repair struct {
	keeps   bool   // the peer keeps what comes behind a gap
	losses  uint32 // gaps reported while it was not known to
	phase   phase
	run     uint32  // packets sent again for the present gap
	runEnd  bth.PSN // the PSN behind them
	hadSent bth.PSN // sentTo when the run began; unacked since a going back without one
}

// phase is what kind of retransmission is under way:
//
//	           begins with                   sends                 until
//	onward     goBack, and at the start      all from next on
//	probing    a NAK of a peer not known     one packet, waits     it is acknowledged: onward
//	mending    a NAK of a peer that keeps,   a run                 it is sent: mended
//	           RNR or not, or its ACK that
//	           ends short; what is overdue
//	mended                                   what was never sent   more than the run is acknowledged,
//	                                                               or all up to hadSent: onward
//	rereading  a lost answer of a READ       READs and atomics     they are sent: reread
//	           or atomic
//	reread                                   what was never sent   anything is acknowledged: onward
//
// A gap where a run ended leads from mended to mending, with a longer run; and whatever
// has everything sent again, as a timeout does, from each of them to onward.
type phase uint8

const (
	onward    phase = iota // none, or everything from a PSN on
	probing                // a run of one, and then an answer is waited for
	mending                // a run, and then what was never sent
	rereading              // READs and atomics, and then what was never sent
	mended                 // as mending, and the run was sent
	reread                 // as rereading, and those were sent
)

// repeats reports whether what is sent next is part of a run.
func (p phase) repeats() bool { return p >= probing && p <= rereading }

// rereads reports whether only READs and atomics are asked for again.
func (p phase) rereads() bool { return p == rereading || p == reread }

// recover decides what is sent again after a NAK.
func (m *Machine) recover(now clock.Time, why transport.Cause) {
	m.expiries = 0
	switch {
	case m.goesBackN():
		m.lost(now, why)
	case m.keeps:
		m.mend(now, why)
	case m.probes():
		m.resend(why, probing, 1)
	default:
		m.lost(now, why)
	}
}

// goesBackN reports whether everything is sent again from a gap on. So it is as well while
// there is no early timer: if a single packet is lost again, or its answer, only the
// acknowledgement timeout would tell, and a retry would be spent.
func (m *Machine) goesBackN() bool { return m.cfg.GoBackN || !m.measured() }

// probes reports whether this loss, of a peer that is not known to keep, is one at which
// to find out: the first, the second, the fourth …
func (r *repair) probes() bool {
	r.losses++
	return r.losses&(r.losses-1) == 0
}

// mend sends the oldest unacknowledged packet again, or a run of them if gaps follow
// on each other. A gap longer than all runs together has everything sent again: the
// peer keeps no more.
func (m *Machine) mend(now clock.Time, why transport.Cause) {
	run := uint32(1)
	if m.phase == mended && m.unacked == m.runEnd {
		run = 2 * m.run
	}
	if run > longestRun {
		m.keeps, m.losses = false, 0
		m.lost(now, why)
		return
	}
	m.cc.Hole(now, int(run))
	m.resend(why, mending, run)
}

// resend goes back to send a run of packets again.
func (m *Machine) resend(why transport.Cause, p phase, run uint32) {
	m.goBack(why)
	m.phase, m.run, m.hadSent = p, run, m.sentTo
	m.runEnd = m.unacked.Add(min(run, uint32(m.sentTo.Diff(m.unacked))))
}

// closesRun reports whether the packet at next is the last one of a run, and so has to
// be acknowledged.
func (m *Machine) closesRun() bool {
	return (m.phase == probing || m.phase == mending) && m.next.Add(1) == m.runEnd
}

// awaitsProbe reports whether the answer to a probe has to come first.
func (m *Machine) awaitsProbe() bool { return m.phase == probing && !m.next.Before(m.runEnd) }

// resent tells that a packet of a run was sent, or passed over. A READ request takes more
// PSNs than one.
func (m *Machine) resent() {
	if m.next.Before(m.runEnd) {
		return
	}
	m.runEnd = m.next
	switch m.phase {
	case mending:
		m.skipAhead(mended)
	case rereading:
		m.skipAhead(reread)
	default: // the answer to a probe comes first
	}
}

// skipAhead makes what was never sent the next to be sent.
func (m *Machine) skipAhead(p phase) {
	m.phase = p
	m.next, m.cursor = m.sentTo, m.numbered
	if i := m.numbered - 1; m.numbered != m.sq.Head() && !m.sentTo.After(m.sq.At(i).Last) {
		m.cursor = i // what was never sent begins inside the newest message
	}
}

// learn draws conclusions when what was sent again is acknowledged. Only the answer to a
// probe tells whether the peer keeps: of what was merely overdue perhaps the answer alone
// was lost.
func (m *Machine) learn(now clock.Time) {
	if m.phase == reread {
		m.phase = onward
	}
	if m.phase == onward || m.unacked.Before(m.runEnd) {
		return
	}
	switch more := m.unacked.After(m.runEnd); {
	case m.phase == rereading:
		m.skipAhead(onward)
	case m.phase == mending:
		m.skipAhead(mended) // it has arrived after all
	case m.phase == mended:
		if more || m.unacked == m.hadSent {
			m.phase = onward
		}
	case more: // the answer to a probe
		m.keeps, m.losses = true, 0
		m.cc.Hole(now, 1)
		m.skipAhead(onward)
	default: // that packet alone
		m.cc.Lost(now)
		m.phase = onward
	}
}

// mendOn goes on mending when an answer ends before what had been sent when the run began:
// more is missing there. It takes the place of a NAK if nothing was sent since whose arrival
// would bring one.
func (m *Machine) mendOn(now clock.Time) {
	short := m.unacked.Before(m.hadSent) && m.hadSent == m.sentTo && m.next == m.sentTo
	switch {
	case !short || m.phase == mended && m.unacked.Before(m.runEnd):
	case m.keeps:
		m.mend(now, m.why)
	case m.phase == mended:
		m.goBack(m.why)
	}
}

// askAgain sends only READs and atomics again, and whatever else there is goes on from
// where it was: their answers were lost, but the peer has executed what came after, or
// it could not have answered that (9.7.5.1.2). A NAK may still tell of a gap behind, and
// is obeyed.
func (m *Machine) askAgain(now clock.Time, why transport.Cause) {
	m.lost(now, why)
	if m.goesBackN() {
		return
	}
	m.phase, m.runEnd = rereading, m.sentTo
	m.goneBack = false
}

// passOver passes over a SEND or WRITE that was sent, if only READs and atomics are sent
// again, and reports whether it did.
func (m *Machine) passOver(now clock.Time, w *qp.SendWQE) bool {
	if m.phase != rereading || w.Op.Reads() {
		return false
	}
	m.next = w.Last.Add(1)
	m.cursor++
	m.resent()
	m.startTimer(now)
	return true
}
