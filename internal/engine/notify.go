package engine

import (
	"github.com/rocinante-rdma/roce/transport"
)

// Congestion notification (IBTA annex A17): a switch marks a packet, its receiver, the
// notification point, tells the sender by a CNP, and the sender, the reaction point, slows
// down.

// marked tells of a marked packet that reached its QP.
func (s *Shard) marked(q *QP) {
	d := q.dcqcn
	if d == nil || !d.notifies || !s.packet.Opcode.Paced() {
		return
	}
	d.np.Marked(s.now)
	if d.np.Due() {
		s.notifying.push(&d.owing)
	}
}

// transmitCNPs sends what CNPs are due, before everything else.
func (s *Shard) transmitCNPs() {
	for s.notifying.head != nil {
		if !s.hasRoom(1) {
			s.starved = true
			return
		}
		q := s.notifying.pop()
		if np := &q.dcqcn.np; np.Due() && q.machine.State().Receives() {
			q.machine.Notify(&s.out)
			s.send(q)
			np.Sent(s.now)
		}
	}
}

// notified tells of a CNP from the QP's peer.
func (s *Shard) notified(q *QP) transport.Verdict {
	if q.dcqcn == nil {
		return transport.Verdict{Action: transport.Ignored, Rule: transport.RuleCNPIgnored}
	}
	q.dcqcn.controller.CNP(s.now)
	return transport.Verdict{Action: transport.Advanced, Rule: transport.RuleCNP}
}
