package rc_test

import (
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// modelEnd is one end of a connection, and what the oracle knows of it.
type modelEnd struct {
	world *modelWorld
	host  *modelHost
	peer  *modelEnd
	side  int
	conn  int
	m     *rc.Machine
	sq    *qp.SendQueue
	rq    *qp.RecvQueue // nil: receives come from host.srq
	out   rc.Out

	ids     uint64
	pending []*modelOp     // posted and not completed, in order
	failed  []*modelOp     // completed with an error, in order
	mail    []*modelOp     // of the peer's: they will use receives of ours, in order
	recvs   []modelReceive // posted to rq and not completed, in order
	taken   []uint32       // lengths of the receives of rq, in the order of posting
	begun   int            // messages posted that use the peer's receives

	broken  bool // work was completed with an error: the rest is flushed
	stopped bool // taken to ERR by a step
	drains  int  // events of a drained send queue that are due
	window  modelWindow
	faults  int // packets of the connection lost or late since work last completed here
	rnrNAKs int // delivered since work last completed here
	closing *modelOp
}

// modelWindow is an end's memory window onto its area, bound for the peer or not.
type modelWindow struct {
	*mr.Window
	state   modelWindowState
	binding *mr.Binding
	users   int // requests of the peer's under way that use it
}

type modelWindowState uint8

const (
	modelUnbound  modelWindowState = iota
	modelBinding                   // posted
	modelBound                     // the peer knows the key
	modelRetiring                  // its invalidation is posted
)

func newModelEnd(w *modelWorld, side, conn int) *modelEnd {
	h := w.history
	e := &modelEnd{world: w, host: w.hosts[side], side: side, conn: conn}
	e.sq = qp.NewSendQueue(h.depth, 4, h.maxLen())
	cfg := rc.Config{QPN: e.qpn(), PD: pd, MaxSGE: 4, Credits: h.credits[side], SharedRecv: e.host.srq, Reorder: e.host.pool, GoBackN: h.goBackN[side]}
	if e.host.srq == nil {
		e.rq = qp.NewRecvQueue(h.recvDepth, 4)
	}
	e.m = rc.New(cfg, e.sq, e.rq, e.host.table, new(congestion.Window), e)
	return e
}

func (e *modelEnd) String() string { return fmt.Sprintf("%s%d", e.host.name, e.conn) }

func (e *modelEnd) qpn() uint32 { return uint32(0x10*(e.conn+1) + e.side) }

// violated is a finding at this end.
func (e *modelEnd) violated(format string, args ...any) {
	panic(modelViolation(e.String() + ": " + fmt.Sprintf(format, args...)))
}

// connect brings the end from RESET to RTS.
func (e *modelEnd) connect(mine, theirs bth.PSN) {
	h := e.world.history
	e.modify(qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: allRight}, qp.MaskPKey|qp.MaskAccess)
	e.modify(qp.Attr{
		State: qp.StateRTR, PathMTU: h.mtu, DestQPN: e.peer.qpn(), DestAddr: netip.AddrFrom4([4]byte{10, 0, 0, 9}),
		RQPSN: theirs, MaxDestRdAtomic: h.responder, MinRNRTimer: h.rnrTimer,
	}, qp.MaskAV|qp.MaskPathMTU|qp.MaskDestQPN|qp.MaskRQPSN|qp.MaskMaxDestRdAtomic|qp.MaskMinRNRTimer)
	e.modify(qp.Attr{
		State: qp.StateRTS, SQPSN: mine, Timeout: h.timeout, RetryCount: h.retry, RNRRetry: h.rnrRetry, MaxRdAtomic: h.initiator,
	}, qp.MaskSQPSN|qp.MaskTimeout|qp.MaskRetryCount|qp.MaskRNRRetry|qp.MaskMaxRdAtomic)
	if e.window.Window != nil {
		e.host.table.FreeWindow(e.window.Window)
	}
	w, err := e.host.table.AllocWindow(pd)
	if err != nil {
		e.violated("no window: %v", err)
	}
	e.window = modelWindow{Window: w}
}

func (e *modelEnd) modify(a qp.Attr, m qp.Mask) {
	if err := e.m.Modify(e.world.now, &a, m|qp.MaskState); err != nil {
		e.violated("cannot go to %s: %v", a.State, err)
	}
}

// sendOne sends a packet, or returns false.
func (e *modelEnd) sendOne() bool {
	if !e.m.Next(e.world.now, transport.AllClasses, &e.out) {
		return false
	}
	raw := append(e.world.wire.buffer(), e.out.Hdr[:e.out.HdrLen]...)
	for _, piece := range e.out.Pay {
		raw = append(raw, piece...)
	}
	if len(raw) != int(e.out.HdrLen)+e.out.Len {
		e.violated("a packet of %d bytes of payload has %d", e.out.Len, len(raw)-int(e.out.HdrLen))
	}
	raw = append(raw, make([]byte, 3)[:e.out.Pad]...)
	e.world.wire.send(e, e.world.now, e.out.Opcode, raw)
	return true
}

func (e *modelEnd) receive(raw []byte) {
	var p bth.Packet
	if err := p.Parse(raw, nil); err != nil {
		e.violated("does not parse: %v", err)
	}
	if p.Opcode == bth.RCAcknowledge && p.AETH.Syndrome.IsRNR() {
		e.rnrNAKs++
	}
	v := e.m.Receive(e.world.now, &p)
	if e.world.log != nil {
		e.world.say("%s takes %s: %s", e, packet{Packet: p}, v)
	}
	e.checkDeath()
}

// drain takes the send queue to SQD.
func (e *modelEnd) drain() {
	if e.m.State() == qp.StateRTS {
		e.world.say("%s: to SQD", e)
		e.drains++
		e.modify(qp.Attr{State: qp.StateSQD, NotifyDrained: true}, qp.MaskNotifyDrained)
	}
}

// resume takes a drained send queue back to RTS.
func (e *modelEnd) resume() {
	if e.m.State() != qp.StateSQD || e.m.Attr().Draining {
		return
	}
	if e.drains != 0 {
		e.violated("drained without an event")
	}
	e.world.say("%s: to RTS", e)
	e.modify(qp.Attr{State: qp.StateRTS}, 0)
}

// fail takes the queue pair to ERR.
func (e *modelEnd) fail() {
	if e.m.State() != qp.StateErr {
		e.world.say("%s: to ERR", e)
		e.stopped = true
		e.modify(qp.Attr{State: qp.StateErr}, 0)
	}
}

// Happened implements rc.Sink.
func (e *modelEnd) Happened(k transport.Event) {
	if k == transport.EventDrained {
		if e.drains--; e.drains < 0 || e.m.Attr().Draining {
			e.violated("drained twice, or too early")
		}
		e.world.met.drained++
	}
}

// checkDeath looks for a reason why the queue pair went to ERR.
func (e *modelEnd) checkDeath() {
	f, failed := e.m.Failure()
	if e.m.State() != qp.StateErr || !failed || e.stopped || e.broken {
		return
	}
	if f.Remote && !e.peer.sentBad() {
		e.violated("went to ERR for a request that nobody made: %s", f.Verdict)
	}
}

// reset takes both ends to RESET, and connects them anew when nothing of the old
// connection is left in the network.
func (e *modelEnd) reset(psn bth.PSN) {
	e.world.say("%s and %s: to RESET", e, e.peer)
	for _, x := range []*modelEnd{e, e.peer} {
		x.world.wire.forget(x)
		x.modify(qp.Attr{State: qp.StateReset}, 0)
		x.failed = append(x.failed, x.pending...)
	}
	for _, x := range []*modelEnd{e, e.peer} {
		x.checkPrefix()
		x.undefined()
		*x = modelEnd{
			world: x.world, host: x.host, peer: x.peer, side: x.side, conn: x.conn, m: x.m, sq: x.sq, rq: x.rq,
			ids: x.ids, window: x.window,
		}
	}
	e.connect(psn, psn.Add(1))
	e.peer.connect(psn.Add(1), psn)
}

// busy reports whether something is left to be done: requests that will complete with a
// word, a message that can still arrive, a send queue to be taken back from SQD.
func (e *modelEnd) busy() bool {
	for _, o := range e.pending {
		if o.flags&qp.Signaled != 0 {
			return true
		}
	}
	return e.sq.Len() > 0 || len(e.mail) > 0 && e.alive() || e.m.State() == qp.StateSQD
}

// alive reports whether neither end went to ERR.
func (e *modelEnd) alive() bool {
	return e.m.State() != qp.StateErr && e.peer.m.State() != qp.StateErr
}

// starves reports whether a message needs a receive and there is none, or a send queue
// is drained.
func (e *modelEnd) starves() bool {
	return e.m.State() == qp.StateSQD && !e.m.Attr().Draining || len(e.mail) > 0 && e.alive() && e.receives().Len() == 0
}

// ReadLocal implements qp.LocalReader.
func (e *modelEnd) ReadLocal(s qp.SGE) ([]byte, bool) {
	span, fault := e.host.table.Resolve(pd, s.LKey, s.Addr, s.Len, 0)
	return span.Bytes, fault == mr.NoFault
}

// close posts a last request, whose completion tells that those before it completed.
func (e *modelEnd) close() {
	if !e.alive() {
		return
	}
	e.closing = &modelOp{op: qp.OpWrite, flags: qp.Signaled}
	e.submit(e.closing, &qp.SendWR{})
}

// closed is the end of the history: nothing is left, and memory is as it must be.
func (e *modelEnd) closed() {
	if e.closing != nil && (e.broken || len(e.pending) > 0) {
		e.violated("the last request did not complete")
	}
	e.failed = append(e.failed, e.pending...)
	e.checkPrefix()
	e.undefined()
}
