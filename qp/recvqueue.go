package qp

import (
	"sync"
	"sync/atomic"
)

// RecvWQE is a receive work queue element.
type RecvWQE struct {
	ID  uint64
	SGL []SGE
	Len uint32 // bytes it can take
}

// RecvQueue is the ring of receive WQEs; its producers and consumer are as those
// of [SendQueue].
type RecvQueue struct {
	mu    sync.Mutex
	state State

	// Made when the first receive is posted, as those of [SendQueue].
	ring          []RecvWQE
	sges          []SGE
	depth, maxSGE int

	head, tail atomic.Uint32
}

// NewRecvQueue returns a ring for depth receives of at most maxSGE pieces each.
func NewRecvQueue(depth, maxSGE int) *RecvQueue {
	return &RecvQueue{depth: depth, maxSGE: maxSGE}
}

// SetState tells producers the queue pair's state: all but RESET take receives.
func (q *RecvQueue) SetState(s State) {
	q.mu.Lock()
	q.state = s
	q.mu.Unlock()
}

// Post appends a snapshot of wr. It returns ErrQueueFull, a *WRError or a
// *StateError.
func (q *RecvQueue) Post(wr *RecvWR) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == StateReset {
		return &StateError{"posting a receive", q.state}
	}
	tail := q.tail.Load()
	if int(tail-q.head.Load()) >= q.depth {
		return ErrQueueFull
	}
	if q.ring == nil {
		n := ceilPow2(q.depth)
		q.ring, q.sges = make([]RecvWQE, n), make([]SGE, n*q.maxSGE)
	}
	i := int(tail) & (len(q.ring) - 1)
	sgl, n, err := snapshot(q.sges[i*q.maxSGE:(i+1)*q.maxSGE], &wr.SGE, wr.SGL)
	if err != nil {
		return err
	}
	q.ring[i] = RecvWQE{ID: wr.ID, SGL: sgl, Len: n}
	q.tail.Store(tail + 1)
	return nil
}

// Len is the number of receives posted and not yet completed.
func (q *RecvQueue) Len() int { return int(q.tail.Load() - q.head.Load()) }

// Front returns the oldest receive, or nil if none is posted.
func (q *RecvQueue) Front() *RecvWQE {
	if q.Len() == 0 {
		return nil
	}
	return &q.ring[int(q.head.Load())&(len(q.ring)-1)]
}

// Pop frees the oldest receive; the caller has completed it.
func (q *RecvQueue) Pop() { q.head.Add(1) }

// Drop frees all receives without completing them, for RESET.
func (q *RecvQueue) Drop() {
	q.mu.Lock()
	q.head.Store(q.tail.Load())
	q.mu.Unlock()
}
