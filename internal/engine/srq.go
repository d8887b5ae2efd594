package engine

import (
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// SRQ is a receive queue that queue pairs of one shard share. Its methods are safe for
// concurrent use, and take no lock of the shard: the queue pairs look for receives
// when they need one.
type SRQ struct {
	queue    *qp.SharedRecvQueue
	happened func(transport.Event)
}

// NewSRQ makes a shared receive queue. happened is told of its event; it neither
// blocks nor calls back.
func NewSRQ(depth, maxSGE int, happened func(transport.Event)) *SRQ {
	return &SRQ{queue: qp.NewSharedRecvQueue(depth, maxSGE), happened: happened}
}

// PostRecv appends a receive; see qp.SharedRecvQueue.Post.
func (r *SRQ) PostRecv(wr *qp.RecvWR) error { return r.queue.Post(wr) }

// Arm asks for one event when fewer than limit receives are left; it comes at once if
// that is so already.
func (r *SRQ) Arm(limit int) {
	if r.queue.Arm(limit) {
		r.happened(transport.EventLimitReached)
	}
}

// Limit is what the queue is armed with, 0 if it is not armed.
func (r *SRQ) Limit() int { return r.queue.Limit() }

// Len is the number of receives that no queue pair has taken.
func (r *SRQ) Len() int { return r.queue.Len() }
