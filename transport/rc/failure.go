package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// Failure is the first cause of a queue pair's way to ERR.
type Failure struct {
	transport.Verdict           // the rule and the PSN it speaks of
	Status            cq.Status // of the work that failed
	Remote            bool      // the peer said so, or its request was at fault
}

// Failure returns why the queue pair went to ERR by itself, if it did.
func (m *Machine) Failure() (Failure, bool) {
	if !m.failed {
		return Failure{}, false
	}
	return m.failure, true
}

// record keeps the first cause.
func (m *Machine) record(status cq.Status, v transport.Verdict, remote bool) {
	if !m.failed {
		m.failure, m.failed = Failure{v, status, remote}, true
	}
}

// fail completes the oldest send WQE with an error, signaled or not, and takes the
// queue pair to ERR. The peer learns nothing from us any more.
func (m *Machine) fail(status cq.Status, v transport.Verdict) {
	m.record(status, v, remoteStatus(status))
	m.setState(qp.StateErr)
	m.responder.silence()
	if m.sq.Len() > 0 {
		m.failSend(status, v.Rule)
	}
	m.flush()
}

func remoteStatus(s cq.Status) bool {
	return s == cq.StatusRemoteInvalid || s == cq.StatusRemoteAccess || s == cq.StatusRemoteOperation
}

// refuseRequest answers the packet at v.PSN with a fatal NAK and takes the queue
// pair to ERR; answers owed before it are still sent. A receive WQE that the
// message uses completes with status.
func (m *Machine) refuseRequest(nak pendingNAK, status cq.Status, v transport.Verdict) transport.Verdict {
	v.Action = transport.Failed
	if nak.syndrome == bth.NAKRemoteAccess {
		m.stats.AccessErrors++
	}
	m.record(status, v, true)
	m.setState(qp.StateErr)
	m.nak = nak
	m.ackOwed = false
	if m.recvInUse {
		m.failRecv(status, v.Rule)
	} else {
		m.sink.Happened(refusal(status))
	}
	m.flush()
	return v
}

// refusal is the event that tells of a refused request when no completion does
// (11.6.3.2).
func refusal(s cq.Status) transport.Event {
	if s == cq.StatusRemoteAccess {
		return transport.EventAccessError
	}
	return transport.EventRequestError
}

// Abandon takes the queue pair to ERR for a reason outside the protocol, which is the
// rule.
func (m *Machine) Abandon(rule transport.Rule) {
	if m.attr.State == qp.StateReset || m.attr.State == qp.StateErr {
		return
	}
	m.record(cq.StatusFatal, transport.Verdict{Action: transport.Failed, Rule: rule, PSN: m.unacked}, false)
	m.setState(qp.StateErr)
	m.responder.silence()
	m.flush()
	m.sink.Happened(transport.EventQPFatal)
}

// flush completes all work in both queues as flushed, in order (10.3.1.7), and
// stops the requester. What is posted meanwhile rings the bell again.
func (m *Machine) flush() {
	for range m.sq.Len() {
		m.failSend(cq.StatusFlushed, transport.RuleFlushed)
	}
	for range m.receives.held() {
		m.failRecv(cq.StatusFlushed, transport.RuleFlushed)
	}
	m.requester.idle()
	m.reorder.clear()
	m.message, m.recvInUse = noMessage, false
	m.announceLast()
}

// failSend completes the oldest send WQE with an error.
func (m *Machine) failSend(status cq.Status, rule transport.Rule) {
	w := m.sq.At(m.sq.Head())
	m.wc = cq.WC{ID: w.ID, Status: status, Opcode: completionOpcode[w.Op], VendorErr: uint32(rule), QPN: m.cfg.QPN}
	m.sink.SendDone(&m.wc)
	m.sq.Pop()
}

// failRecv completes the oldest receive WQE with an error.
func (m *Machine) failRecv(status cq.Status, rule transport.Rule) {
	m.wc = cq.WC{ID: m.recvWQE().ID, Status: status, Opcode: cq.OpRecv, VendorErr: uint32(rule), QPN: m.cfg.QPN}
	m.sink.RecvDone(&m.wc, true)
	m.receives.done()
}
