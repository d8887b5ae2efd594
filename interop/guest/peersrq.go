//go:build linux

package guest

import (
	"context"
	"fmt"
)

// PeerSRQ is a shared receive queue in the guest.
type PeerSRQ struct {
	peer *Peer
	id   uint32
}

// NewSRQ makes one for a number of receives.
func (p *Peer) NewSRQ(ctx context.Context, depth int) (*PeerSRQ, error) {
	s := &PeerSRQ{p, p.nextID()}
	if err := p.order(ctx, nil, "srq", "id", s.id, "depth", depth); err != nil {
		return nil, err
	}
	return s, nil
}

// arg is the queue as an argument of an order, left out if nil.
func (s *PeerSRQ) arg() string {
	if s == nil {
		return ""
	}
	return fmt.Sprint(s.id)
}

// PostRecv posts a work request to the queue.
func (s *PeerSRQ) PostRecv(ctx context.Context, id uint64, mem PeerMem) error {
	return s.peer.order(ctx, nil, "recv", append([]any{"srq", s.id, "wr", id}, mem.args()...)...)
}

// Arm asks for one PeerSRQLimit when fewer than limit receives are left.
func (s *PeerSRQ) Arm(ctx context.Context, limit int) error {
	return s.peer.order(ctx, nil, "arm", "srq", s.id, "limit", limit)
}

// Destroy destroys the queue, which no QP may use any more.
func (s *PeerSRQ) Destroy(ctx context.Context) error {
	return s.peer.order(ctx, nil, "unsrq", "srq", s.id)
}
