package roce

import (
	"fmt"

	"github.com/rocinante-rdma/roce/mr"
)

// MW is a memory window of type 2B: it shows part of a region to the peer of one
// queue pair, for as long as it is bound. Binding and invalidating are work requests
// of that queue pair; they move nothing and are cheap, while registering is not. The
// peer can invalidate the window, too, when it has done its work: by [OpSendInv].
//
// All methods are safe for concurrent use [ibv_mw].
type MW struct {
	pd     *PD
	window *mr.Window
}

// AllocMW makes a window that is not bound [ibv_alloc_mw, IBV_MW_TYPE_2].
func (p *PD) AllocMW() (*MW, error) {
	window, err := p.dev.memory.AllocWindow(p.id)
	if err != nil {
		return nil, fmt.Errorf("roce: allocate a window: %w", err)
	}
	w := &MW{pd: p, window: window}
	if err := p.adopt("allocate a window", func() error { p.mws[w] = struct{}{}; return nil }); err != nil {
		p.dev.memory.FreeWindow(window)
		return nil, err
	}
	return w, nil
}

// String names the window in messages.
func (w *MW) String() string { return fmt.Sprintf("MW 0x%06x", w.window.Index()) }

// Bind makes the work request, [OpBindMW], that binds the window to n bytes of a
// region from offset off on, for the peer of the queue pair that it is posted to.
// Like a slice expression it panics if they are not in the region. Its RKey is the
// one that the window will have: another one for each bind, so each request can be
// posted once. ID and Flags are the caller's to set.
//
// access is what the peer may do: [AccessRemoteWrite], [AccessRemoteRead] and
// [AccessRemoteAtomic], whatever the region itself permits peers. With
// [AccessZeroBased] the peer's addresses are offsets in the window, else those of the
// region.
//
// The work fails with [StatusMWBind], and the queue pair with it, unless the region
// has [AccessMWBind], is not zero based, and has [AccessLocalWrite] if the peer may
// write; window, region and queue pair are of one PD; n is not 0; and the window is
// not bound [ibv_bind_mw, IBV_WR_BIND_MW].
func (w *MW) Bind(m *MR, off, n int, access Access) SendWR {
	_ = m.region.Bytes()[off : off+n : len(m.region.Bytes())]
	b := mr.NewBinding(w.window, m.region, m.region.Base()+uint64(off), uint64(n), access)
	return SendWR{Op: OpBindMW, Bind: b, RKey: b.RKey()}
}

// RKey is the key of the window, 0 while it is not bound: what to pass as RKey of
// [OpLocalInv], and what the completion of the peer's [OpSendInv] names.
func (w *MW) RKey() RKey { return w.Remote().Key }

// Remote names what the window shows for the peer: what to send it once the bind has
// completed. It is zero while the window is not bound.
func (w *MW) Remote() Remote {
	b := w.window.Bound()
	if b == nil {
		return Remote{}
	}
	return Remote{Addr: b.Base(), Key: b.RKey(), Len: saturated(b.Len())}
}

// Close unbinds the window and frees it. When it returns the peer reaches nothing by
// it any more. Closing again does nothing [ibv_dealloc_mw].
func (w *MW) Close() error {
	w.pd.dev.memory.FreeWindow(w.window)
	w.pd.dev.shard.Quiesce()
	w.pd.dev.mu.Lock()
	delete(w.pd.mws, w)
	w.pd.dev.mu.Unlock()
	return nil
}

// boundTo names the windows that are bound to a region.
func (p *PD) boundTo(r *mr.Region) []string {
	p.dev.mu.Lock()
	defer p.dev.mu.Unlock()
	bound := make(map[*MW]struct{})
	for w := range p.mws {
		if b := w.window.Bound(); b != nil && b.Region() == r {
			bound[w] = struct{}{}
		}
	}
	return names(bound)
}

// release unbinds the windows that are bound to a queue pair which is gone. The
// caller holds dev.mu.
func (p *PD) release(q *QP) {
	for w := range p.mws {
		p.dev.memory.Release(w.window, q.QPN())
	}
}
