package rc

import (
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// Local operations bind and invalidate memory windows. They take their turn in the
// send queue, but no packet and no PSN: their First lies behind their Last. They are
// carried out when the cursor comes to them, so what is posted behind them finds them
// done (10.8.3.3), and complete behind what was posted before.

// runLocal carries the local operation at the cursor out, once, however often the
// requester goes back, and moves on. It returns false if it cannot be carried out.
func (m *Machine) runLocal(w *qp.SendWQE) bool {
	if !m.started(m.cursor) {
		if status, rule := m.carryOut(w); status != cq.StatusSuccess {
			m.cannotSend(status, rule)
			return false
		}
		w.Bind = nil
		w.First, w.Last, w.MSN = m.next, m.next.Sub(1), m.begun
		m.numbered = m.cursor + 1
	}
	if m.cursor == m.sq.Head() {
		m.finish(w)
	} else {
		m.cursor++
	}
	return true
}

// carryOut does what a local operation says (11.4.1).
func (m *Machine) carryOut(w *qp.SendWQE) (cq.Status, transport.Rule) {
	if w.Op == qp.OpBindMW {
		if fault := m.mem.Bind(m.cfg.PD, m.cfg.QPN, w.Bind); fault != mr.NoFault {
			return cq.StatusMWBind, bindRules[fault]
		}
	} else if !m.mem.Invalidate(m.cfg.PD, m.cfg.QPN, w.RKey) {
		return cq.StatusLocalQPOperation, transport.RuleInvalidate
	}
	return cq.StatusSuccess, transport.RuleNone
}

// bindRules are the rules behind the faults of a bind.
var bindRules = [...]transport.Rule{
	mr.FaultPD: transport.RuleBindPD, mr.FaultAccess: transport.RuleBindAccess, mr.FaultRange: transport.RuleBindRange,
	mr.FaultGone: transport.RuleBindGone, mr.FaultBound: transport.RuleBindAgain, mr.FaultMisaligned: transport.RuleBindMisaligned,
}
