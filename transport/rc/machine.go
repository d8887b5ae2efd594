package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// Config is what a machine is born with.
type Config struct {
	QPN    uint32
	PD     mr.PD
	MaxSGE int // pieces that a work request may have

	// SharedRecv is the queue that receives are taken from, instead of one of the
	// queue pair's own.
	SharedRecv *qp.SharedRecvQueue
	// Credits has acknowledgements tell the peer how many receives are posted, and
	// the requester expect the same of the peer from the start.
	Credits bool

	// Reorder is where the responder holds requests that come before their turn. nil:
	// it drops them, as most responders do.
	Reorder *ReorderPool
	// GoBackN has the requester repeat everything from a gap on, whatever the peer has
	// of it, instead of finding out.
	GoBackN bool
}

// Sink takes completions, in the order of the queue, and events. It is called from
// inside the machine's methods; the WC is lent for the call.
type Sink interface {
	SendDone(wc *cq.WC)
	// RecvDone also says whether the peer asked for an event.
	RecvDone(wc *cq.WC, solicited bool)
	// Happened tells of an event of the queue pair, or of its shared receive queue.
	Happened(e transport.Event)
}

// Out is one packet committed to be sent.
type Out struct {
	Hdr         [bth.MaxHeaderLen]byte // BTH and extension headers
	HdrLen, Pad uint8                  // bytes
	Pay         [][]byte               // payload by reference, valid until the end of the turn
	Len         int                    // payload bytes
	MustCopy    bool                   // the memory may change before the network has read it
	Class       transport.Class
	Why         transport.Cause
	Opcode      bth.Opcode
	PSN         bth.PSN
}

// Machine is one RC queue pair's protocol state. All methods belong to the owner
// of its shard's lock.
type Machine struct {
	cfg  Config
	attr qp.Attr // as modified so far; attr.State is the state

	sq   *qp.SendQueue
	mem  mr.Memory
	cc   congestion.Controller
	sink Sink

	requester
	responder
	receives
	reorder reorderBuffer

	failure Failure
	failed  bool // failure is set
	stats   Stats

	pkt bth.Packet // scratch for headers being built
	pay [][]byte   // scratch for Out.Pay
	wc  cq.WC      // scratch for completions

	// Fair sharing between the two halves, in bytes since one of them was idle.
	requestBytes, answerBytes int
}

// New returns a machine in RESET. cc bounds its requests in flight; rq is nil if receives are
// shared.
func New(cfg Config, sq *qp.SendQueue, rq *qp.RecvQueue, mem mr.Memory, cc congestion.Controller, sink Sink) *Machine {
	m := &Machine{cfg: cfg, sq: sq, mem: mem, cc: cc, sink: sink}
	m.own = rq
	m.reorder.pool = cfg.Reorder
	if cfg.SharedRecv != nil {
		m.share(cfg.SharedRecv)
	}
	m.pay = make([][]byte, 0, max(cfg.MaxSGE, 1))
	m.requester.idle()
	return m
}

// State is the queue pair's state.
func (m *Machine) State() qp.State { return m.attr.State }

// Attr returns the attributes as modified so far.
func (m *Machine) Attr() qp.Attr {
	a := m.attr
	a.Draining = m.draining()
	return a
}

// Rate is what congestion control allows at present.
func (m *Machine) Rate() congestion.Rate { return m.cc.Rate() }

// Modify changes attributes and state [ibv_modify_qp]. What it may change is
// checked by [qp.CheckModify]; on an error nothing has changed. Going to ERR
// flushes all work, going to RESET drops it without completions.
func (m *Machine) Modify(now clock.Time, a *qp.Attr, mask qp.Mask) error {
	for _, check := range modifyChecks {
		if err := check(m, a, mask); err != nil {
			return err
		}
	}
	m.take(a, mask)
	if m.attr.State == qp.StateSQD {
		m.adjust(mask)
	}
	if mask&qp.MaskState != 0 {
		m.enter(now, a.State)
	}
	return nil
}

// modifyChecks are what a change of attributes has to pass.
var modifyChecks = [...]func(*Machine, *qp.Attr, qp.Mask) error{
	func(m *Machine, a *qp.Attr, mask qp.Mask) error { return qp.CheckModify(m.attr.State, a, mask) },
	(*Machine).checkDrained,
	(*Machine).checkAnswers,
}

// take copies the attributes named by the mask, all but the state.
func (m *Machine) take(a *qp.Attr, mask qp.Mask) {
	set := func(bit qp.Mask, copyAttr func()) {
		if mask&bit != 0 {
			copyAttr()
		}
	}
	t := &m.attr
	set(qp.MaskPKey, func() { t.PKey = a.PKey })
	set(qp.MaskAccess, func() { t.Access = a.Access })
	set(qp.MaskPathMTU, func() { t.PathMTU = a.PathMTU })
	set(qp.MaskDestQPN, func() { t.DestQPN = a.DestQPN })
	set(qp.MaskAV, func() {
		t.DestAddr, t.TrafficClass, t.HopLimit, t.SL = a.DestAddr, a.TrafficClass, a.HopLimit, a.SL
	})
	set(qp.MaskRQPSN, func() { t.RQPSN = a.RQPSN })
	set(qp.MaskMaxDestRdAtomic, func() { t.MaxDestRdAtomic = a.MaxDestRdAtomic })
	set(qp.MaskMinRNRTimer, func() { t.MinRNRTimer = a.MinRNRTimer })
	set(qp.MaskSQPSN, func() { t.SQPSN = a.SQPSN })
	set(qp.MaskTimeout, func() { t.Timeout = a.Timeout })
	set(qp.MaskRetryCount, func() { t.RetryCount = a.RetryCount })
	set(qp.MaskRNRRetry, func() { t.RNRRetry = a.RNRRetry })
	set(qp.MaskMaxRdAtomic, func() { t.MaxRdAtomic = a.MaxRdAtomic })
	set(qp.MaskNotifyDrained, func() { t.NotifyDrained = a.NotifyDrained })
}

// enter performs a state change.
func (m *Machine) enter(now clock.Time, s qp.State) {
	from := m.attr.State
	m.setState(s)
	switch s {
	case qp.StateReset:
		m.reset()
	case qp.StateRTR:
		if from == qp.StateInit {
			m.responder.start(m.attr.RQPSN, m.attr.MaxDestRdAtomic)
			m.cc.Start(now, m.attr.PathMTU) // answers are sent from here on
		}
	case qp.StateRTS:
		if from == qp.StateRTR {
			m.requester.start(&m.attr, m.sq.Head())
			m.limited = m.cfg.Credits
		}
	case qp.StateSQD:
		m.drained()
	case qp.StateErr:
		m.responder.silence()
		m.flush()
	default: // INIT begins nothing; SQE is not reached
	}
}

func (m *Machine) setState(s qp.State) {
	m.attr.State = s
	m.sq.SetState(s)
	m.receives.setState(s)
}

// reset forgets everything but what the machine was born with.
func (m *Machine) reset() {
	m.sq.Drop()
	m.receives.drop()
	m.attr = qp.Attr{}
	m.failed = false
	m.requester.idle()
	m.responder.idle()
	m.reorder.clear()
}

// Posted tells that work was posted. In ERR it is flushed at once; otherwise Next
// finds it.
func (m *Machine) Posted() {
	if m.attr.State == qp.StateErr {
		m.flush()
	}
}

// Receive takes one packet of the connected peer, its ICRC checked. The packet may
// have an undefined RC opcode; then only its base header counts. p and its payload
// are lent for the call. Congestion notifications are not for the machine: whoever paces
// what it sends takes them.
func (m *Machine) Receive(now clock.Time, p *bth.Packet) transport.Verdict {
	if p.Opcode.Is(bth.Response) {
		if !m.attr.State.Sends() {
			return transport.Verdict{Rule: transport.RuleState, PSN: p.PSN}
		}
		return m.complete(now, p)
	}
	if !m.attr.State.Receives() {
		return transport.Verdict{Rule: transport.RuleState, PSN: p.PSN}
	}
	m.establish(p)
	return m.respond(p)
}

// establish tells of the peer's first request, which says that the peer is in RTS:
// connection management takes it for its own message of that (10.3.1.3).
func (m *Machine) establish(p *bth.Packet) {
	if m.attr.State == qp.StateRTR && !m.established && p.PSN == m.expected {
		m.established = true
		m.sink.Happened(transport.EventCommEstablished)
	}
}

// Next commits one packet of an allowed class and sets o, or returns false when
// there is none now; Why says why. Requests and answers alternate by bytes.
func (m *Machine) Next(now clock.Time, allow transport.ClassMask, o *Out) bool {
	if m.answerBytes <= m.requestBytes {
		return m.nextAnswer(allow, o) || m.nextRequest(now, allow, o)
	}
	return m.nextRequest(now, allow, o) || m.nextAnswer(allow, o)
}

// nextAnswer commits a packet of the responder half.
func (m *Machine) nextAnswer(allow transport.ClassMask, o *Out) bool {
	if m.answer(allow, o) {
		m.answerBytes += o.Len
		return true
	}
	m.requestBytes, m.answerBytes = 0, 0
	return false
}

// nextRequest commits a packet of the requester half.
func (m *Machine) nextRequest(now clock.Time, allow transport.ClassMask, o *Out) bool {
	if allow.Has(transport.ClassRequest) && m.request(now, o) {
		m.requestBytes += o.Len
		return true
	}
	return false
}

// header starts the scratch packet with what every packet of this QP carries.
// MigReq is sent as 1, as adapters do (their path-migration state is "migrated").
func (m *Machine) header(op bth.Opcode, psn bth.PSN) *bth.Packet {
	m.pkt = bth.Packet{Opcode: op, PKey: m.attr.PKey, MigReq: true, DestQP: m.attr.DestQPN, PSN: psn}
	return &m.pkt
}

// emit finishes o from the scratch packet; its payload pieces are in m.pay.
func (m *Machine) emit(o *Out, n int, class transport.Class, why transport.Cause) {
	p := &m.pkt
	p.Pad = bth.PadFor(n)
	o.HdrLen = uint8(p.PutHeaders(o.Hdr[:]))
	o.Pad, o.Pay, o.Len = p.Pad, m.pay, n
	o.MustCopy = false
	o.Class, o.Why, o.Opcode, o.PSN = class, why, p.Opcode, p.PSN
	m.stats.count(o)
}

// noPayload empties the payload scratch.
func (m *Machine) noPayload() { m.pay = m.pay[:0] }
