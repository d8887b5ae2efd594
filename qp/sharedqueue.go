package qp

import "sync/atomic"

// SharedRecvQueue is the ring of receive WQEs that several queue pairs take from
// [ibv_srq] (IBTA vol. 1, 10.2.9). Any number of producers post. The consumers are
// queue pairs of one shard, whose lock makes them one at a time.
type SharedRecvQueue struct {
	ring  RecvQueue
	limit atomic.Uint32 // armed: fewer receives than this are to be told; 0: not armed
}

// NewSharedRecvQueue returns a ring for depth receives of at most maxSGE pieces each.
func NewSharedRecvQueue(depth, maxSGE int) *SharedRecvQueue {
	q := &SharedRecvQueue{ring: RecvQueue{depth: depth, maxSGE: maxSGE}}
	q.ring.state = StateInit // it has no state of its own, and takes receives at once
	return q
}

// Post appends a snapshot of wr. It returns ErrQueueFull or a *WRError. Receives
// that a queue pair has taken leave room for others, whether or not they have
// completed.
func (q *SharedRecvQueue) Post(wr *RecvWR) error { return q.ring.Post(wr) }

// Len is the number of receives that no queue pair has taken.
func (q *SharedRecvQueue) Len() int { return q.ring.Len() }

// Depth is the number of receives that the ring holds.
func (q *SharedRecvQueue) Depth() int { return q.ring.depth }

// MaxSGE is the number of pieces that a receive may have.
func (q *SharedRecvQueue) MaxSGE() int { return q.ring.maxSGE }

// Limit is the limit that the queue is armed with, 0 if it is not armed.
func (q *SharedRecvQueue) Limit() int { return int(q.limit.Load()) }

// Take moves the oldest receive to w, whose SGL must have room for MaxSGE pieces. The
// caller knows that there is one. It reports whether fewer than the limit are left
// now, once per arming (10.2.9).
func (q *SharedRecvQueue) Take(w *RecvWQE) (belowLimit bool) {
	front := q.ring.Front()
	w.ID, w.Len, w.SGL = front.ID, front.Len, append(w.SGL[:0], front.SGL...)
	q.ring.Pop()
	return q.fellBelow()
}

// Arm asks to be told once when fewer than limit receives are left; 0 disarms. It
// reports whether that is so already, and then it has been told: so receives taken
// while the limit was being set are not missed.
func (q *SharedRecvQueue) Arm(limit int) (belowLimit bool) {
	q.limit.Store(uint32(limit))
	return q.fellBelow()
}

// fellBelow disarms a queue that has fewer receives than its limit. Take moves the
// head before it reads the limit, Arm sets the limit before it reads the head: at
// least one of the two sees the other, and only one disarms.
func (q *SharedRecvQueue) fellBelow() bool {
	limit := q.limit.Load()
	return limit != 0 && q.Len() < int(limit) && q.limit.CompareAndSwap(limit, 0)
}
