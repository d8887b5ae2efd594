package rc

import (
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// In SQD (10.3.1.5) messages that were begun are finished, retransmissions included;
// what is posted waits. When none is under way any more the send queue is drained,
// and attributes may be changed until the queue pair goes back to RTS.

// draining reports whether messages that were begun are still under way in SQD.
func (m *Machine) draining() bool { return m.attr.State == qp.StateSQD && m.started(m.sq.Head()) }

// checkDrained refuses every change during draining but the way out of the connection
// (10.3.1.5).
func (m *Machine) checkDrained(a *qp.Attr, mask qp.Mask) error {
	leaves := mask&qp.MaskState != 0 && (a.State == qp.StateErr || a.State == qp.StateReset)
	if m.draining() && !leaves {
		return &qp.StateError{
			Op:    "modifying with work under way (wait for the event, or until Attr is not Draining any more)",
			State: qp.StateSQD,
		}
	}
	return nil
}

// drained raises the event that SQD was entered for, when nothing is under way.
func (m *Machine) drained() {
	if m.attr.NotifyDrained && m.attr.State == qp.StateSQD && !m.draining() {
		m.attr.NotifyDrained = false
		m.sink.Happened(transport.EventDrained)
	}
}

// checkAnswers refuses to take fewer READs and atomics than are being answered.
func (m *Machine) checkAnswers(a *qp.Attr, mask qp.Mask) error {
	if m.attr.State == qp.StateSQD && mask&qp.MaskMaxDestRdAtomic != 0 && a.MaxDestRdAtomic < m.replay.pending {
		return &qp.AttrError{Attr: qp.MaskMaxDestRdAtomic.String(), Why: "is less than the READs and atomics that are being answered: try again"}
	}
	return nil
}

// adjust lets new attributes take effect on a drained queue pair.
func (m *Machine) adjust(mask qp.Mask) {
	if mask&qp.MaskMaxDestRdAtomic != 0 {
		m.replay.resize(m.attr.MaxDestRdAtomic)
	}
	if mask&(qp.MaskRetryCount|qp.MaskRNRRetry) != 0 {
		m.recovery.reload(&m.attr)
	}
}
