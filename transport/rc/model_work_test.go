package rc_test

import (
	"encoding/binary"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
)

// modelSpan is a piece of a host's memory.
type modelSpan struct{ off, n int }

// modelOp is a request under way, and what it must do.
type modelOp struct {
	id        uint64
	op        qp.Op
	flags     qp.Flags
	local     []modelSpan
	payload   []byte // what is sent; of a READ or atomic: where the result is put together
	off       int    // in the peer's area
	compare   uint64
	add       uint64 // the addend, or the new value
	imm       uint32
	key       mr.Key
	window    *modelWindow // it goes through
	fate      cq.Status
	message   int  // number of the receive that it meets
	delivered bool // its receive completed
}

// modelReceive is a receive that is posted.
type modelReceive struct {
	id    uint64
	local []modelSpan
}

// undefined takes over what is in the buffer.
func (r modelReceive) undefined(h *modelHost) {
	for _, s := range r.local {
		copy(h.want[s.off:s.off+s.n], h.buf[s.off:s.off+s.n])
	}
}

// apply does to the peer's area what the request does there, or the first n bytes of
// it.
func (o *modelOp) apply(area []byte, n int) {
	n = min(n, len(o.payload))
	switch o.op {
	case qp.OpWrite, qp.OpWriteImm:
		copy(area[o.off:], o.payload[:n])
	case qp.OpFetchAdd:
		if n == mr.AtomicSize {
			w := area[o.off:]
			binary.NativeEndian.PutUint64(w, binary.NativeEndian.Uint64(w)+o.add)
		}
	case qp.OpCompareSwap:
		if w := area[o.off:]; n == mr.AtomicSize && binary.NativeEndian.Uint64(w) == o.compare {
			binary.NativeEndian.PutUint64(w, o.add)
		}
	}
}

// leaveWindow tells that the request needs the window no more.
func (o *modelOp) leaveWindow() {
	if o.window != nil {
		o.window.users--
		o.window = nil
	}
}

// maxLen is the largest message.
func (h *modelHistory) maxLen() int { return h.maxMTUs()*h.mtu + 5 }

// maxMTUs keeps large messages few, and small MTUs busy.
func (h *modelHistory) maxMTUs() int {
	switch {
	case h.mtu <= 512:
		return 4
	case h.mtu <= 1024:
		return 3
	}
	return 2
}

// length is that of a message.
func (h *modelHistory) length(s *modelStep) int {
	return max(s.mtus%(h.maxMTUs()+1)*h.mtu+s.excess, 0)
}

// post posts the request of a step, unless it is not possible now.
func (e *modelEnd) post(s *modelStep) {
	if len(e.pending) >= e.world.history.depth {
		return
	}
	e.ids++
	o := &modelOp{id: e.ids, op: s.op, flags: s.flags, off: s.n, imm: uint32(e.ids) * 0x01010101}
	if len(e.pending) == e.world.history.depth-1 {
		o.flags |= qp.Signaled // else nothing might ever tell that there is room again
	}
	wr := &qp.SendWR{}
	switch {
	case s.op == qp.OpBindMW:
		if e.window.state != modelUnbound || e.m.State() == qp.StateErr {
			return
		}
		e.bind(o, wr, s)
	case s.op == qp.OpLocalInv:
		if e.window.state != modelBound || e.window.users > 0 || e.peer.m.State() == qp.StateErr {
			return
		}
		e.window.state = modelRetiring
		wr.RKey = e.window.binding.RKey()
		o.flags &^= qp.Inline
	default:
		if !e.fill(o, wr, s) {
			return
		}
	}
	e.submit(o, wr)
}

// bind asks for a window onto the end's area.
func (e *modelEnd) bind(o *modelOp, wr *qp.SendWR, s *modelStep) {
	rights := mr.RemoteRead | mr.RemoteWrite | mr.RemoteAtomic
	if s.n&2 != 0 {
		rights |= mr.ZeroBased
	}
	base := e.host.region.Base() + uint64(e.conn*e.host.area)
	e.window.binding = mr.NewBinding(e.window.Window, e.host.region, base, uint64(e.host.area), rights)
	e.window.state = modelBinding
	wr.Bind = e.window.binding
	o.flags &^= qp.Inline
}

// fill makes the buffers and the target of a request that moves data.
func (e *modelEnd) fill(o *modelOp, wr *qp.SendWR, s *modelStep) bool {
	n := e.world.history.length(s)
	if s.op.Atomic() {
		n = mr.AtomicSize
		o.off &^= mr.AtomicSize - 1
		wr.Compare, wr.Swap, wr.Add = e.ids, e.ids*3, e.ids*5
		if s.n&1 != 0 { // what is there, probably
			wr.Compare = binary.NativeEndian.Uint64(e.peer.areaIn(e.peer.host.want)[o.off:])
		}
		o.compare, o.add = wr.Compare, wr.Add
		if s.op == qp.OpCompareSwap {
			o.add = wr.Swap
		}
	}
	if s.op.Reads() {
		o.flags &^= qp.Inline
	}
	var ok bool
	if o.local, ok = e.host.pieces(n, s.pieces); !ok {
		return false
	}
	o.payload = make([]byte, n)
	e.host.sgl(o.local, &wr.SGL)
	if !s.op.Reads() {
		copy(o.payload, modelNoise[int(e.ids)*977%(modelMemory/2):])
		data := o.payload
		for _, p := range o.local {
			copy(e.host.buf[p.off:p.off+p.n], data)
			data = data[copy(e.host.want[p.off:p.off+p.n], data):]
		}
	}
	e.aim(o, wr, s)
	return e.addressed(o, wr, s)
}

// aim names the peer's memory, and makes what is to be wrong wrong.
func (e *modelEnd) aim(o *modelOp, wr *qp.SendWR, s *modelStep) {
	wr.Imm = o.imm
	region := e.peer.host.region
	base := region.Base() + uint64(e.peer.conn*e.peer.host.area)
	wr.RKey = region.RKey()
	if w := &e.peer.window; s.window && w.state == modelBound && s.op != qp.OpSendInv && (s.op.Reads() || s.op == qp.OpWrite || s.op == qp.OpWriteImm) {
		wr.RKey, base = w.binding.RKey(), w.binding.Base()
		o.window = w
		w.users++
	}
	wr.RemoteAddr = base + uint64(o.off)
	remote := s.op.Reads() || s.op == qp.OpWrite || s.op == qp.OpWriteImm
	some := len(o.payload) > 0
	switch {
	case e.world.history.initiator == 0 && s.op.Reads():
		o.fate = cq.StatusLocalQPOperation
	case s.bad == modelBadLocalKey && some && o.flags&qp.Inline == 0 && len(wr.SGL) > 0:
		wr.SGL[len(wr.SGL)-1].LKey ^= 0x55
		o.fate = cq.StatusLocalProtection
	case s.bad == modelBadKey && some && remote:
		wr.RKey ^= 0x5500
		o.fate = cq.StatusRemoteAccess
	case s.bad == modelBadRange && some && remote:
		wr.RemoteAddr += modelMemory
		o.fate = cq.StatusRemoteAccess
	case s.bad == modelBadAlignment && s.op.Atomic():
		wr.RemoteAddr += 4
		o.fate = cq.StatusRemoteInvalid
	}
}

// addressed completes what only some operations need; false: not possible now.
func (e *modelEnd) addressed(o *modelOp, wr *qp.SendWR, s *modelStep) bool {
	if s.op == qp.OpSendInv {
		w := &e.peer.window
		switch {
		case s.bad == modelBadKey && w.state == modelUnbound:
			wr.RKey ^= 0x5500
			o.fate = cq.StatusRemoteAccess
		case w.state == modelBound && o.fate == cq.StatusSuccess && e.m.State() != qp.StateErr:
			wr.RKey = w.binding.RKey()
			w.state = modelRetiring
			if w.users > 0 {
				o.flags |= qp.Fence // a READ cannot be answered again without its key
			}
		default:
			return false
		}
		o.key = wr.RKey
	}
	if s.op.ConsumesRecv() {
		o.message = e.begun
		e.begun++
		e.peer.mail = append(e.peer.mail, o)
	}
	return true
}

// submit posts a request.
func (e *modelEnd) submit(o *modelOp, wr *qp.SendWR) {
	wr.ID, wr.Op, wr.Flags = o.id, o.op, o.flags
	e.pending = append(e.pending, o)
	e.world.say("%s posts %s %d, %d bytes, flags %d, at %d", e, o.op, o.id, len(o.payload), o.flags, o.off)
	if err := e.sq.Post(wr, e); err != nil {
		e.violated("request %d is refused: %v", o.id, err)
	}
	if o.flags&qp.Inline != 0 {
		e.release(o) // the buffer is free at once
	}
	e.m.Posted()
}

// pieces gives a buffer of n bytes out, in pieces.
func (h *modelHost) pieces(n, count int) ([]modelSpan, bool) {
	var out []modelSpan
	for i := max(count, 1); i > 0; i-- {
		k := n / i
		n -= k
		off, ok := h.alloc(k)
		if !ok {
			return nil, false
		}
		out = append(out, modelSpan{off, k})
	}
	return out, true
}

// sgl names pieces of the region.
func (h *modelHost) sgl(pieces []modelSpan, sgl *[]qp.SGE) {
	for _, p := range pieces {
		*sgl = append(*sgl, qp.SGE{Addr: h.region.Base() + uint64(p.off), Len: uint32(p.n), LKey: h.region.LKey()})
	}
}

// recvSize is the length of a step's receives. Shared ones must take every message, for
// nobody knows which one they will get.
func (e *modelEnd) recvSize(s *modelStep) int {
	if s.mtus != 0 || e.rq == nil {
		return e.world.history.maxLen()
	}
	return s.mtus * 100
}

// modelReceives is a queue of receives.
type modelReceives interface {
	Len() int
	Post(wr *qp.RecvWR) error
}

// receives is the queue that the end's receives come from.
func (e *modelEnd) receives() modelReceives {
	if e.rq == nil {
		return e.host.srq
	}
	return e.rq
}

// postRecv posts a receive, if there is room.
func (e *modelEnd) postRecv(n, pieces int) {
	queue, list := e.receives(), &e.host.posted
	if e.rq != nil {
		list = &e.recvs
	}
	if queue.Len() >= e.world.history.recvDepth {
		return
	}
	local, ok := e.host.pieces(n, pieces)
	if !ok {
		return
	}
	e.host.recvs++
	r := modelReceive{e.host.recvs, local}
	wr := &qp.RecvWR{ID: r.id}
	e.host.sgl(local, &wr.SGL)
	*list = append(*list, r)
	e.taken = append(e.taken, uint32(n))
	e.world.say("%s posts receive %d of %d bytes", e, r.id, n)
	if err := queue.Post(wr); err != nil {
		e.violated("receive %d is refused: %v", r.id, err)
	}
	e.m.Posted()
}

// topUp posts receives for the messages that are still to come.
func (e *modelEnd) topUp() {
	for range min(len(e.mail), e.world.history.recvDepth) {
		e.postRecv(e.world.history.maxLen(), 1)
	}
}
