package rc

import (
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

	cursor   uint32  // index in the send queue of the WQE that next belongs to
	numbered uint32  // index of the first WQE that has no PSNs yet
	reads    int     // READs and atomics numbered and not completed
	silent   uint32  // packets sent since one asked for an acknowledgement
	readFrom bth.PSN // where the oldest READ was last asked for again

	why     transport.Cause   // cause of packets before sentTo
	blocked transport.Blocked // why the last call sent nothing

	result [atomicSize]byte // scratch for an atomic's answer

	recovery
}

// idle is the state outside RTS.
func (r *requester) idle() {
	*r = requester{blocked: transport.BlockedState}
	r.recovery.idle()
}

// start enters RTS with the first PSN and the index of the first WQE.
func (r *requester) start(a *qp.Attr, head uint32) {
	psn := a.SQPSN
	*r = requester{unacked: psn, next: psn, sentTo: psn, cursor: head, numbered: head}
	r.recovery.idle()
	r.recovery.reload(a)
}

// Why tells why the machine last had no request to send.
func (m *Machine) Why() transport.Blocked { return m.blocked }

// request commits the next request packet.
func (m *Machine) request(now clock.Time, o *Out) bool {
	w := m.sendable(now)
	if w == nil {
		return false
	}
	if !m.started(m.cursor) {
		m.number(w)
	}
	if status := m.build(now, w, o); status != cq.StatusSuccess {
		m.cannotSend(status)
		return false
	}
	m.sent(now, w, o)
	return true
}

// cannotSend fails the cursor's WQE as soon as it is the oldest: the ones before
// it complete first.
func (m *Machine) cannotSend(status cq.Status) {
	m.blocked = transport.BlockedFailing
	if m.cursor == m.sq.Head() {
		m.fail(status, transport.Verdict{Action: transport.Failed, Rule: transport.RuleLocalMemory, PSN: m.next})
	}
}

// sendable returns the WQE of the next packet, or nil and sets blocked.
func (m *Machine) sendable(now clock.Time) *qp.SendWQE {
	m.blocked = m.holdup(now)
	if m.blocked != transport.NotBlocked {
		return nil
	}
	return m.sq.At(m.cursor)
}

// holdup says what keeps the next packet from being sent.
func (m *Machine) holdup(now clock.Time) transport.Blocked {
	switch {
	case m.attr.State != qp.StateRTS:
		return transport.BlockedState
	case m.cursor == m.sq.Tail():
		return transport.BlockedEmpty
	case m.rnrUntil != clock.Never:
		return transport.BlockedRNR
	}
	w := m.sq.At(m.cursor)
	if b := m.mayStart(w); b != transport.NotBlocked {
		return b
	}
	return m.windowed(now, w)
}

// mayStart applies the rules for beginning a WQE: a fenced one waits for earlier
// READs and atomics (10.8.3.3), and no more of those may be outstanding than the
// peer has resources for (9.7.3.1). WQEs begun before are not held up again.
func (m *Machine) mayStart(w *qp.SendWQE) transport.Blocked {
	switch {
	case m.started(m.cursor):
		return transport.NotBlocked
	case w.Flags&qp.Fence != 0 && m.reads > 0:
		return transport.BlockedFence
	case w.Reads() && m.attr.MaxRdAtomic > 0 && m.reads >= m.attr.MaxRdAtomic:
		return transport.BlockedReadLimit
	}
	return transport.NotBlocked
}

// windowed applies the congestion window and the PSN window. The packets that a
// READ will bring count too: they must fit our own receive buffer. With nothing in
// flight anything goes.
func (m *Machine) windowed(now clock.Time, w *qp.SendWQE) transport.Blocked {
	inflight := int(m.next.Diff(m.unacked))
	if inflight == 0 {
		return transport.NotBlocked
	}
	need := 1
	if w.Op == qp.OpRead {
		need = int(packets(w.Len, m.attr.PathMTU))
	}
	if inflight+need > bth.PSNWindow {
		return transport.BlockedWindow
	}
	if m.cc.NextSend(now, inflight+need-1, m.attr.PathMTU) > now {
		return transport.BlockedWindow
	}
	return transport.NotBlocked
}

// started reports whether the WQE at an index of the ring has its PSNs.
func (m *Machine) started(i uint32) bool { return int32(i-m.numbered) < 0 }

// number gives a WQE its PSNs.
func (m *Machine) number(w *qp.SendWQE) {
	n := uint32(1)
	if w.Op < qp.OpCompareSwap {
		n = packets(w.Len, m.attr.PathMTU)
	}
	w.First, w.Last = m.next, m.next.Add(n-1)
	m.numbered = m.cursor + 1
	if w.Reads() {
		m.reads++
	}
}

// build makes the packet at m.next of w. Another status than success says how the
// WQE has to fail: its local memory is not valid, or the connection was set up
// without READs and atomics.
func (m *Machine) build(now clock.Time, w *qp.SendWQE, o *Out) cq.Status {
	if !w.Reads() {
		return m.buildData(now, w, o)
	}
	if m.attr.MaxRdAtomic == 0 {
		return cq.StatusLocalQPOperation
	}
	if w.Op == qp.OpRead && packets(w.Len, m.attr.PathMTU) >= bth.PSNWindow {
		return cq.StatusLocalLength
	}
	if !m.writable(w) {
		return cq.StatusLocalProtection
	}
	if w.Op == qp.OpRead {
		m.buildRead(w, o)
	} else {
		m.buildAtomic(w, o)
	}
	return cq.StatusSuccess
}

// buildData makes a packet of a SEND or WRITE (9.7.3, segmentation).
func (m *Machine) buildData(now clock.Time, w *qp.SendWQE, o *Out) cq.Status {
	i := uint32(m.next.Diff(w.First))
	off := i * uint32(m.attr.PathMTU)
	n := min(w.Len-off, uint32(m.attr.PathMTU))
	if !m.gather(w, off, n) {
		return cq.StatusLocalProtection
	}
	first, last := m.next == w.First, m.next == w.Last
	p := m.header(dataOpcode(w.Op, first, last), m.next)
	p.RETH = bth.RETH{VA: w.RemoteAddr, RKey: uint32(w.RKey), Len: w.Len}
	p.Imm = w.Imm
	p.Solicited = last && w.Flags&qp.Solicited != 0
	p.AckReq = last || m.silent+1 >= ackEvery || m.closesWindow(now)
	m.emit(o, int(n), transport.ClassRequest, m.cause())
	o.MustCopy = w.Flags&qp.Inline != 0
	return cq.StatusSuccess
}

// closesWindow reports whether nothing may follow the packet at next until an
// acknowledgement arrives; so it has to ask for one.
func (m *Machine) closesWindow(now clock.Time) bool {
	inflight := int(m.next.Diff(m.unacked)) + 1
	return m.cc.NextSend(now, inflight, m.attr.PathMTU) > now
}

// dataOpcode picks the opcode of a SEND or WRITE packet by its place.
func dataOpcode(op qp.Op, first, last bool) bth.Opcode {
	row := dataOpcodes[op]
	switch {
	case first && last:
		return row.only
	case first:
		return row.first
	case last:
		return row.last
	}
	return row.middle
}

var dataOpcodes = [...]struct{ first, middle, last, only bth.Opcode }{
	qp.OpSend:     {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast, bth.RCSendOnly},
	qp.OpSendImm:  {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLastImm, bth.RCSendOnlyImm},
	qp.OpWrite:    {bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteOnly},
	qp.OpWriteImm: {bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLastImm, bth.RCWriteOnlyImm},
}

// buildRead makes a READ request for what is still missing: after a loss in the
// middle it asks for the rest, at the first missing PSN (9.7.5.1.4).
func (m *Machine) buildRead(w *qp.SendWQE, o *Out) {
	got := uint32(m.next.Diff(w.First)) * uint32(m.attr.PathMTU)
	if got > 0 {
		m.readFrom = m.next
	}
	m.noPayload()
	p := m.header(bth.RCReadRequest, m.next)
	p.RETH = bth.RETH{VA: w.RemoteAddr + uint64(got), RKey: uint32(w.RKey), Len: w.Len - got}
	p.AckReq = true
	m.emit(o, 0, transport.ClassRequest, m.cause())
}

// buildAtomic makes a CmpSwap or FetchAdd request.
func (m *Machine) buildAtomic(w *qp.SendWQE, o *Out) {
	op := bth.RCFetchAdd
	if w.Op == qp.OpCompareSwap {
		op = bth.RCCompareSwap
	}
	m.noPayload()
	p := m.header(op, m.next)
	p.Atomic = bth.AtomicETH{VA: w.RemoteAddr, RKey: uint32(w.RKey), SwapAdd: w.SwapAdd, Compare: w.Compare}
	p.AckReq = true
	m.emit(o, 0, transport.ClassRequest, m.cause())
}

// writable checks that the answer of a READ or atomic has a place to go.
func (m *Machine) writable(w *qp.SendWQE) bool {
	for _, s := range w.SGL {
		if _, fault := m.mem.Resolve(m.cfg.PD, s.LKey, s.Addr, s.Len, mr.LocalWrite); fault != mr.NoFault {
			return false
		}
	}
	return true
}

// gather sets m.pay to the pieces of n bytes of the message from offset off on.
func (m *Machine) gather(w *qp.SendWQE, off, n uint32) bool {
	m.noPayload()
	if w.Flags&qp.Inline != 0 {
		if n > 0 {
			m.pay = append(m.pay, w.Inline[off:off+n])
		}
		return true
	}
	for _, s := range w.SGL {
		if n == 0 {
			break
		}
		if off >= s.Len {
			off -= s.Len
			continue
		}
		k := min(s.Len-off, n)
		span, fault := m.mem.Resolve(m.cfg.PD, s.LKey, s.Addr+uint64(off), k, 0)
		if fault != mr.NoFault {
			return false
		}
		m.pay = append(m.pay, span.Bytes)
		n, off = n-k, 0
	}
	return true
}

// sent moves on behind the packet just built.
func (m *Machine) sent(now clock.Time, w *qp.SendWQE, o *Out) {
	m.stats.count(o)
	if o.Opcode == bth.RCReadRequest {
		m.next = w.Last.Add(1)
	} else {
		m.next = m.next.Add(1)
	}
	if m.pkt.AckReq {
		m.silent = 0
	} else {
		m.silent++
	}
	if m.next.After(m.sentTo) {
		m.sentTo = m.next
	}
	if m.next == w.Last.Add(1) {
		m.cursor++
	}
	m.cc.Sent(now, o.Len)
	m.startTimer(now)
}

// cause is why the packet at next is sent.
func (m *Machine) cause() transport.Cause {
	if m.next.Before(m.sentTo) {
		return m.why
	}
	return transport.CauseFirst
}
