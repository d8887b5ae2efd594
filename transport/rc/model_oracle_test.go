package rc_test

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
)

// The oracle: what completions may come, in which order, and what memory must be then.
// Requests of a connection are carried out in order, each once; a READ may see what
// requests behind it write, up to the next fenced one (IBTA vol. 1, table 79).

// SendDone implements rc.Sink.
func (e *modelEnd) SendDone(wc *cq.WC) {
	e.world.say("%s: %s %d: %s", e, wc.Opcode, wc.ID, wc.Status)
	e.world.met.completed(wc.Status)
	o := e.completing(wc)
	if wc.Status != cq.StatusSuccess {
		e.sendFailed(o, wc)
		return
	}
	switch {
	case e.broken:
		e.violated("request %d succeeds after one that failed", wc.ID)
	case e.fate(o) != cq.StatusSuccess:
		e.violated("request %d succeeds and must fail: %s", wc.ID, e.fate(o))
	case o.flags&qp.Signaled == 0:
		e.violated("request %d was not signaled", wc.ID)
	case wc.ByteLen != uint32(len(o.payload)):
		e.violated("request %d: %d bytes instead of %d", wc.ID, wc.ByteLen, len(o.payload))
	}
	e.succeeded(o)
	// The packet in hand may tell of one more trouble.
	e.faults, e.rnrNAKs = min(e.faults, 1), min(e.rnrNAKs, 1)
}

// completing takes the request that a completion tells of off, and those before it,
// which have succeeded in silence.
func (e *modelEnd) completing(wc *cq.WC) *modelOp {
	for len(e.pending) > 0 {
		o := e.pending[0]
		e.pending = e.pending[1:]
		o.leaveWindow()
		if o.id == wc.ID {
			return o
		}
		if o.flags&qp.Signaled != 0 || e.broken {
			e.violated("request %d is passed over: %d completes first", o.id, wc.ID)
		}
		if fate := e.fate(o); fate != cq.StatusSuccess {
			e.violated("request %d succeeds in silence and must fail: %s", o.id, fate)
		}
		e.succeeded(o)
	}
	e.violated("request %d completes and is not under way", wc.ID)
	return nil
}

// succeeded draws the consequences of a request that was carried out.
func (e *modelEnd) succeeded(o *modelOp) {
	if o.op.ConsumesRecv() && !o.delivered {
		e.violated("request %d succeeds before the peer has its message", o.id)
	}
	area := e.peer.areaIn(e.peer.host.want)
	switch o.op {
	case qp.OpRead:
		e.checkRead(o, area[o.off:])
	case qp.OpFetchAdd, qp.OpCompareSwap:
		was := binary.NativeEndian.Uint64(area[o.off:])
		if got := binary.NativeEndian.Uint64(e.gathered(o)); got != was {
			e.violated("%s %d brought %#x, there was %#x", o.op, o.id, got, was)
		}
	case qp.OpBindMW:
		e.window.state = modelBound
	case qp.OpLocalInv:
		e.window.state = modelUnbound
	}
	o.apply(area, len(o.payload))
	e.release(o)
	e.world.met.succeeded[o.op]++
}

// checkRead holds the bytes that a READ brought against memory as the requests before
// it left it, and as the unfenced ones behind it may have changed it.
func (e *modelEnd) checkRead(o *modelOp, want []byte) {
	got := e.gathered(o)
	if bytes.Equal(got, want[:len(got)]) {
		return
	}
	later := bytes.Clone(e.peer.areaIn(e.peer.host.want))
	may := func(i int) bool { return false }
	for _, x := range e.pending {
		if x.flags&qp.Fence != 0 {
			break
		}
		x.apply(later, len(x.payload))
		now, before := bytes.Clone(later[o.off:]), may
		may = func(i int) bool { return got[i] == now[i] || before(i) }
	}
	for i := range got {
		if got[i] != want[i] && !may(i) {
			e.violated("READ %d brought %#x as byte %d, there was %#x", o.id, got[i], i, want[i])
		}
	}
}

// gathered is what a READ or atomic brought; the oracle takes it over.
func (e *modelEnd) gathered(o *modelOp) []byte {
	got := o.payload[:0]
	for _, s := range o.local {
		got = append(got, e.host.buf[s.off:s.off+s.n]...)
		copy(e.host.want[s.off:], e.host.buf[s.off:s.off+s.n])
	}
	return got
}

// release gives the local buffer of a request back to its owner, who spoils it: nobody
// may look at it any more.
func (e *modelEnd) release(o *modelOp) {
	if o.op.Reads() {
		return
	}
	for _, s := range o.local {
		clear(e.host.buf[s.off : s.off+s.n])
		clear(e.host.want[s.off : s.off+s.n])
	}
}

// sendFailed judges the first error, and that everything behind it is flushed.
func (e *modelEnd) sendFailed(o *modelOp, wc *cq.WC) {
	if e.m.State() != qp.StateErr {
		e.violated("request %d fails in %s", wc.ID, e.m.State())
	}
	if e.broken && wc.Status != cq.StatusFlushed || !e.broken && !e.mayFail(o, wc.Status) {
		e.violated("request %d fails without reason: %s (%d faults, %d RNR NAKs)", wc.ID, wc.Status, e.faults, e.rnrNAKs)
	}
	e.broken = true
	e.failed = append(e.failed, o)
}

// mayFail reports whether there is a reason for a status.
func (e *modelEnd) mayFail(o *modelOp, s cq.Status) bool {
	h := e.world.history
	switch s {
	case cq.StatusFlushed:
		f, failed := e.m.Failure()
		return e.stopped || failed && f.Remote && e.peer.sentBad()
	case cq.StatusRetryExceeded:
		return e.peer.m.State() == qp.StateErr || e.faults > int(h.retry)
	case cq.StatusRNRRetryExceeded:
		return h.rnrRetry < 7 && e.rnrNAKs > int(h.rnrRetry)
	}
	// The peer's refusal of a later request ends a READ or atomic whose answer is lost.
	return e.mayEnd(o, s) || o.op.Reads() && slices.ContainsFunc(e.pending, func(x *modelOp) bool { return e.mayEnd(x, s) })
}

// fate is how a request has to end if the connection lives.
func (e *modelEnd) fate(o *modelOp) cq.Status {
	if o.fate == cq.StatusSuccess && e.tooLong(o) {
		return cq.StatusRemoteInvalid
	}
	return o.fate
}

// mayEnd reports whether a status is what the request itself is refused with.
func (e *modelEnd) mayEnd(o *modelOp, s cq.Status) bool {
	return s == o.fate || s == cq.StatusRemoteInvalid && e.tooLong(o)
}

// tooLong reports whether a message meets a receive that is too short for it.
func (e *modelEnd) tooLong(o *modelOp) bool {
	return o.op.ConsumesRecv() && o.op != qp.OpWriteImm && e.peer.rq != nil &&
		o.message < len(e.peer.taken) && uint32(len(o.payload)) > e.peer.taken[o.message]
}

// sentBad reports whether a request under way, or the one that failed first, may
// make the peer refuse it.
func (e *modelEnd) sentBad() bool {
	for _, list := range [][]*modelOp{e.failed, e.pending} {
		for _, o := range list {
			if o.fate == cq.StatusRemoteInvalid || o.fate == cq.StatusRemoteAccess || e.tooLong(o) {
				return true
			}
		}
	}
	return false
}

// RecvDone implements rc.Sink.
func (e *modelEnd) RecvDone(wc *cq.WC, solicited bool) {
	e.world.say("%s: receive %d: %s %s, %d bytes", e, wc.ID, wc.Opcode, wc.Status, wc.ByteLen)
	e.world.met.completed(wc.Status)
	r := e.usedReceive(wc)
	if wc.Status != cq.StatusSuccess {
		e.recvFailed(r, wc)
		return
	}
	if e.m.State() == qp.StateErr {
		e.violated("receive %d succeeds in ERR", wc.ID)
	}
	if len(e.mail) == 0 {
		e.violated("receive %d completes and nothing was sent", wc.ID)
	}
	o := e.mail[0]
	e.mail = e.mail[1:]
	o.delivered = true
	e.checkMessage(o, wc, solicited)
	if o.op != qp.OpWriteImm {
		data := o.payload
		for _, s := range r.local {
			data = data[copy(e.host.want[s.off:s.off+s.n], data):]
		}
	}
	for _, s := range r.local {
		if !bytes.Equal(e.host.buf[s.off:s.off+s.n], e.host.want[s.off:s.off+s.n]) {
			e.violated("receive %d has other bytes than message %d", wc.ID, o.id)
		}
	}
}

func (e *modelEnd) checkMessage(o *modelOp, wc *cq.WC, solicited bool) {
	want := cq.WC{ID: wc.ID, Opcode: cq.OpRecv, ByteLen: uint32(len(o.payload)), QPN: e.qpn(), SrcQP: e.peer.qpn()}
	switch o.op {
	case qp.OpWriteImm:
		want.Opcode = cq.OpRecvRDMAWithImm
		want.Flags, want.Imm = cq.WithImm, o.imm
	case qp.OpSendImm:
		want.Flags, want.Imm = cq.WithImm, o.imm
	case qp.OpSendInv:
		want.Flags, want.InvalidatedKey = cq.WithInv, uint32(o.key)
		e.window.state = modelUnbound
	}
	if *wc != want {
		e.violated("message %d completes as %+v instead of %+v", o.id, *wc, want)
	}
	if solicited != (o.flags&qp.Solicited != 0) {
		e.violated("message %d: solicited is %v", o.id, solicited)
	}
}

// usedReceive takes the receive off that a completion tells of: the oldest one, unless
// others take from the same queue.
func (e *modelEnd) usedReceive(wc *cq.WC) modelReceive {
	list := &e.recvs
	if e.rq == nil {
		list = &e.host.posted
	}
	for i, r := range *list {
		if r.id == wc.ID {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return r
		}
		if e.rq != nil {
			e.violated("receive %d is passed over: %d completes first", r.id, wc.ID)
		}
	}
	e.violated("receive %d completes and is not posted", wc.ID)
	return modelReceive{}
}

// recvFailed judges the error of a receive; what is in its buffer means nothing.
func (e *modelEnd) recvFailed(r modelReceive, wc *cq.WC) {
	if e.m.State() != qp.StateErr {
		e.violated("receive %d fails in %s", wc.ID, e.m.State())
	}
	if wc.Status != cq.StatusFlushed && !e.peer.sentBad() {
		e.violated("receive %d fails without reason: %s", wc.ID, wc.Status)
	}
	r.undefined(e.host)
}

// areaIn is the end's area in a memory of its host.
func (e *modelEnd) areaIn(memory []byte) []byte {
	return memory[e.conn*e.host.area:][:e.host.area]
}

// checkPrefix looks at the memory that the failed requests worked on: some of them,
// from the first on, were carried out, and perhaps a part of the next one.
func (e *modelEnd) checkPrefix() {
	got, want := e.peer.areaIn(e.peer.host.buf), e.peer.areaIn(e.peer.host.want)
	for _, o := range e.failed {
		for n := 0; n <= len(o.payload) && !bytes.Equal(got, want); n += e.world.history.mtu {
			o.apply(want, n)
		}
		if bytes.Equal(got, want) || e.fate(o) != cq.StatusSuccess {
			break
		}
		o.apply(want, len(o.payload))
	}
	if !bytes.Equal(got, want) {
		e.violated("memory of %s is not what the first of the failed requests leave", e.peer)
	}
}

// undefined takes over what is in the buffers of work that did not succeed.
func (e *modelEnd) undefined() {
	for _, o := range e.failed {
		modelReceive{local: o.local}.undefined(e.host)
		o.leaveWindow()
	}
	for _, r := range e.recvs {
		r.undefined(e.host)
	}
	for _, r := range e.host.posted {
		r.undefined(e.host)
	}
}
