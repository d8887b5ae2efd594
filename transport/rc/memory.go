package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
)

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

// scatter copies p's payload into the pieces of a local buffer from offset off on.
func (m *Machine) scatter(sgl []qp.SGE, off uint32, p *bth.Packet) bool {
	for _, src := range p.Payload {
		if !m.place(sgl, off, src, p.Opcode.Is(bth.Last)) {
			return false
		}
		off += uint32(len(src))
	}
	return true
}

// place copies one contiguous piece into a local buffer at offset off.
func (m *Machine) place(sgl []qp.SGE, off uint32, src []byte, last bool) bool {
	for _, s := range sgl {
		if len(src) == 0 {
			return true
		}
		if off >= s.Len {
			off -= s.Len
			continue
		}
		n := min(s.Len-off, uint32(len(src)))
		span, fault := m.mem.Resolve(m.cfg.PD, s.LKey, s.Addr+uint64(off), n, mr.LocalWrite)
		if fault != mr.NoFault {
			return false
		}
		mr.Place(span, src[:n], last)
		src, off = src[n:], 0
	}
	return len(src) == 0
}
