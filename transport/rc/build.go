package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// build makes the packet at m.next of w. Another status than success says how the
// WQE has to fail: its local memory is not valid, or the connection was set up
// without READs and atomics.
func (m *Machine) build(now clock.Time, w *qp.SendWQE, o *Out) cq.Status {
	if !w.Op.Reads() {
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
	p := m.header(dataOpcodes[w.Op].at(first, last), m.next)
	p.RETH = bth.RETH{VA: w.RemoteAddr, RKey: uint32(w.RKey), Len: w.Len}
	p.Imm, p.IETH = w.Imm, uint32(w.RKey)
	p.Solicited = last && w.Flags&qp.Solicited != 0
	p.AckReq = last || m.silent+1 >= ackEvery || m.closesRun() || m.closesWindow() ||
		first && m.beyondCredits(w) || m.tooQuiet(now, first, n)
	m.emit(o, int(n), transport.ClassRequest, m.cause())
	o.MustCopy = w.Flags&qp.Inline != 0
	return cq.StatusSuccess
}

// opcodes are those of the packets of one kind of message.
type opcodes struct{ first, middle, last, only bth.Opcode }

// at picks the opcode of a packet by its place in the message.
func (o *opcodes) at(first, last bool) bth.Opcode {
	switch {
	case first && last:
		return o.only
	case first:
		return o.first
	case last:
		return o.last
	}
	return o.middle
}

// dataOpcodes are the opcodes of SENDs and WRITEs.
var dataOpcodes = [...]opcodes{
	qp.OpSend:     {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast, bth.RCSendOnly},
	qp.OpSendImm:  {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLastImm, bth.RCSendOnlyImm},
	qp.OpSendInv:  {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLastInv, bth.RCSendOnlyInv},
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
