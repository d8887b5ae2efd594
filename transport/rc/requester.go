package rc

import (
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// requester is the sending half's state. PSNs run like this:
//
//	unacked ≤ next ≤ sentTo
//
// unacked is the oldest PSN whose answer is missing, next the one to send now, and
// sentTo lies behind the newest ever sent: after going back, next < sentTo, and
// acknowledgements up to sentTo are still genuine.
type requester struct {
	unacked, next, sentTo bth.PSN

	cursor   uint32     // index in the send queue of the WQE that next belongs to
	numbered uint32     // index of the first WQE that has no PSNs yet
	reads    int        // READs and atomics numbered and not completed
	silent   uint32     // packets sent since one asked for an acknowledgement
	quiet    clock.Time // when that one was sent, or the first of them, if it begins a message
	readFrom bth.PSN    // where the oldest READ was last asked for again
	executed bth.PSN    // unacked, or behind it: the peer has executed what lies before

	why     transport.Cause   // cause of packets before sentTo
	blocked transport.Blocked // why the last call sent nothing

	result [mr.AtomicSize]byte // scratch for an atomic's answer

	recovery
	repair
	roundTrip
	credits
}

// idle is the state outside RTS.
func (r *requester) idle() {
	*r = requester{blocked: transport.BlockedState}
	r.recovery.idle()
}

// start enters RTS with the first PSN and the index of the first WQE.
func (r *requester) start(a *qp.Attr, head uint32) {
	psn := a.SQPSN
	*r = requester{unacked: psn, next: psn, sentTo: psn, executed: psn, cursor: head, numbered: head}
	r.hadSent = psn
	r.recovery.idle()
	r.recovery.reload(a)
}

// Why tells why the machine last had no request to send.
func (m *Machine) Why() transport.Blocked { return m.blocked }

// request commits the next request packet.
func (m *Machine) request(now clock.Time, o *Out) bool {
	w := m.sendable()
	for w != nil && (w.Op.Local() || m.passOver(now, w)) {
		if w.Op.Local() && !m.runLocal(w) {
			return false
		}
		w = m.sendable()
	}
	if w == nil {
		return false
	}
	if !m.started(m.cursor) {
		m.number(w)
	}
	if status := m.build(now, w, o); status != cq.StatusSuccess {
		m.cannotSend(status, unsendable(status))
		return false
	}
	m.sent(now, w, o)
	return true
}

// cannotSend fails the cursor's WQE as soon as it is the oldest: the ones before
// it complete first.
func (m *Machine) cannotSend(status cq.Status, rule transport.Rule) {
	m.blocked = transport.BlockedFailing
	if m.cursor == m.sq.Head() {
		m.fail(status, transport.Verdict{Action: transport.Failed, Rule: rule, PSN: m.next})
	}
}

// unsendable is the rule behind the statuses of build.
func unsendable(status cq.Status) transport.Rule {
	switch status {
	case cq.StatusLocalQPOperation:
		return transport.RuleNoReads
	case cq.StatusLocalLength:
		return transport.RuleDMALength
	default:
		return transport.RuleWorkMemory
	}
}

// sendable returns the WQE of the next packet, or nil and sets blocked.
func (m *Machine) sendable() *qp.SendWQE {
	m.blocked = m.holdup()
	if m.blocked != transport.NotBlocked {
		return nil
	}
	return m.sq.At(m.cursor)
}

// holdup says what keeps the next packet from being sent.
func (m *Machine) holdup() transport.Blocked {
	switch {
	case !m.attr.State.Sends():
		return transport.BlockedState
	case m.cursor == m.sq.Tail():
		return transport.BlockedEmpty
	case m.attr.State == qp.StateSQD && !m.started(m.cursor):
		return transport.BlockedDrain
	case m.rnrUntil != clock.Never:
		return transport.BlockedRNR
	case m.awaitsProbe():
		return transport.BlockedProbe
	}
	w := m.sq.At(m.cursor)
	if b := m.mayStart(w); b != transport.NotBlocked || w.Op.Local() {
		return b
	}
	if m.outOfCredits(w) {
		return transport.BlockedCredits
	}
	return m.windowed(w)
}

// mayStart applies the rules for beginning a WQE: a fenced one waits for earlier
// READs and atomics (10.8.3.3), and no more of those may be outstanding than the
// peer has resources for (9.7.3.1). A local invalidate waits for all earlier work,
// which may need the key, whether it is fenced or not (10.6.5.1). WQEs begun before
// are not held up again.
func (m *Machine) mayStart(w *qp.SendWQE) transport.Blocked {
	switch {
	case m.started(m.cursor):
		return transport.NotBlocked
	case w.Flags&qp.Fence != 0 && m.reads > 0, w.Op == qp.OpLocalInv && m.cursor != m.sq.Head():
		return transport.BlockedFence
	case w.Op.Reads() && m.attr.MaxRdAtomic > 0 && m.reads >= m.attr.MaxRdAtomic:
		return transport.BlockedReadLimit
	}
	return transport.NotBlocked
}

// windowed applies the congestion window and the PSN window. The packets that a
// READ will bring count too: they must fit our own receive buffer. With nothing in
// flight anything goes.
func (m *Machine) windowed(w *qp.SendWQE) transport.Blocked {
	inflight := int(m.next.Diff(m.unacked))
	if inflight == 0 {
		return transport.NotBlocked
	}
	need := 1
	if w.Op == qp.OpRead {
		need = int(packets(w.Len, m.attr.PathMTU))
	}
	if inflight+need >= bth.PSNWindow {
		return transport.BlockedWindow
	}
	if !m.mayFollow(inflight + need - 1) {
		return transport.BlockedWindow
	}
	return transport.NotBlocked
}

// mayFollow applies the congestion window to a packet behind inflight others. While the
// peer keeps what came behind a gap, that is no longer in the network, but is not
// acknowledged either: so that one gap does not stop everything, twice as much may be
// unacknowledged.
func (m *Machine) mayFollow(inflight int) bool {
	if m.phase == mended && m.keeps {
		inflight /= 2
	}
	return inflight < m.cc.Window()
}

// started reports whether the WQE at an index of the ring has its PSNs.
func (m *Machine) started(i uint32) bool { return int32(i-m.numbered) < 0 }

// number gives a WQE its PSNs.
func (m *Machine) number(w *qp.SendWQE) {
	n := uint32(1)
	if !w.Op.Atomic() {
		n = packets(w.Len, m.attr.PathMTU)
	}
	w.First, w.Last = m.next, m.next.Add(n-1)
	m.begin(w)
	m.numbered = m.cursor + 1
	if w.Op.Reads() {
		m.reads++
	}
}

// closesWindow reports whether nothing may follow the packet at next until an
// acknowledgement arrives; so it has to ask for one.
func (m *Machine) closesWindow() bool {
	return !m.mayFollow(int(m.next.Diff(m.unacked)) + 1)
}

// tooQuiet reports whether a message is sent so slowly that the packet of n bytes at next,
// which does not end it, has to ask for an acknowledgement: the last that did is long gone,
// or what comes behind the first will be late.
func (m *Machine) tooQuiet(now clock.Time, first bool, n uint32) bool {
	limit := m.quietTime()
	if m.phase.repeats() || !first && now.Sub(m.quiet) < limit {
		return false
	}
	rate := m.cc.Rate().BitsPerSec
	return rate > 0 && (!first || float64(n)*8e9 >= rate*float64(limit))
}

// quietTime is how long packets of a paced message may go without asking for an
// acknowledgement. It leaves most of the acknowledgement timeout to the network.
func (m *Machine) quietTime() time.Duration {
	if t := ackTimeout(m.attr.Timeout); t != 0 {
		return min(t/4, ackAfter)
	}
	return ackAfter
}

// sent moves on behind the packet just built.
func (m *Machine) sent(now clock.Time, w *qp.SendWQE, o *Out) {
	if o.Opcode == bth.RCReadRequest {
		m.next = w.Last.Add(1)
	} else {
		m.next = m.next.Add(1)
	}
	if m.pkt.AckReq || m.silent == 0 && o.PSN == w.First {
		m.quiet = now
	}
	if m.pkt.AckReq {
		m.silent = 0
		if o.Why == transport.CauseFirst && !m.goneBack && m.phase == onward {
			m.measure(now, o.PSN)
		}
	} else {
		m.silent++
	}
	if m.next.After(m.sentTo) {
		m.sentTo = m.next
	}
	if m.next == w.Last.Add(1) {
		m.cursor++
	}
	m.startTimer(now)
	if m.phase.repeats() {
		m.resent()
	}
}

// cause is why the packet at next is sent.
func (m *Machine) cause() transport.Cause {
	if m.next.Before(m.sentTo) {
		return m.why
	}
	return transport.CauseFirst
}
