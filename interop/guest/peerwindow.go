//go:build linux

package guest

import "context"

// PeerWindow is a memory window of type 2 in the guest.
type PeerWindow struct {
	peer *Peer
	id   uint32
}

// NewWindow makes a window that is not bound.
func (p *Peer) NewWindow(ctx context.Context) (*PeerWindow, error) {
	w := &PeerWindow{p, p.nextID()}
	if err := p.order(ctx, nil, "mw", "id", w.id); err != nil {
		return nil, err
	}
	return w, nil
}

// PeerBinding is what a window shows to the QP's remote end.
type PeerBinding struct {
	Addr uint64 // of its first byte
	RKey uint32
}

// Bind posts the binding of a window, which must not be bound, to n bytes of a region
// that was registered with BindWindow; each has another key. The completion has the
// given id.
func (q *PeerQP) Bind(ctx context.Context, id uint64, w *PeerWindow, r *PeerRegion, off, n int, access Access) (b PeerBinding, err error) {
	err = q.peer.order(ctx, &b, "bind", "qp", q.id, "mw", w.id, "mr", r.id, "off", off, "len", n, "access", access, "wr", id)
	return b, err
}

// Free frees the window, which may be bound. rdma_rxe wants that before its QP is
// destroyed.
func (w *PeerWindow) Free(ctx context.Context) error {
	return w.peer.order(ctx, nil, "unmw", "mw", w.id)
}
