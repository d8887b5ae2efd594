package rc

import (
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// receives is where the responder finds receive WQEs: the queue pair's own queue, or
// one that it shares with others. From a shared one a WQE is taken when a message
// needs it, and is the queue pair's from then on.
type receives struct {
	own    *qp.RecvQueue
	shared *qp.SharedRecvQueue // instead of own

	taken     qp.RecvWQE // from shared
	holding   bool       // taken is not completed yet
	announced bool       // the event that nothing more is taken was raised
}

// share makes q the queue that receives come from.
func (r *receives) share(q *qp.SharedRecvQueue) {
	r.shared = q
	r.taken.SGL = make([]qp.SGE, 0, q.MaxSGE())
}

// count is the number of receives posted: of its own, with the one that a message under
// way is using; of a shared queue, without.
func (r *receives) count() int {
	if r.shared == nil {
		return r.own.Len()
	}
	return r.shared.Len()
}

// recvWQE returns the WQE of the present message; there is one.
func (m *Machine) recvWQE() *qp.RecvWQE {
	r := &m.receives
	if r.shared == nil {
		return r.own.Front()
	}
	if !r.holding {
		r.holding = true
		if r.shared.Take(&r.taken) {
			m.sink.Happened(transport.EventLimitReached)
		}
	}
	return &r.taken
}

// done frees the WQE of the present message; the caller has completed it.
func (r *receives) done() {
	if r.shared == nil {
		r.own.Pop()
	} else {
		r.holding = false
	}
}

// held is the number of receives that go to ERR with the queue pair: its own, or the
// one that it took. What is in a shared queue is for others (10.2.9).
func (r *receives) held() int {
	switch {
	case r.shared == nil:
		return r.own.Len()
	case r.holding:
		return 1
	}
	return 0
}

// setState tells those who post the queue pair's state.
func (r *receives) setState(s qp.State) {
	if r.shared == nil {
		r.own.SetState(s)
	}
}

// drop forgets all receives without completions.
func (r *receives) drop() {
	if r.shared == nil {
		r.own.Drop()
	}
	r.holding, r.announced = false, false
}

// announceLast tells, once, that the queue pair takes nothing more from the shared
// queue, and that what it had taken has completed (11.6.3.1, last WQE reached).
func (m *Machine) announceLast() {
	if m.shared != nil && !m.announced {
		m.announced = true
		m.sink.Happened(transport.EventLastWQE)
	}
}
