package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

const windowRights = mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic

// bindable is a region of the host's that windows may be bound to.
func (h *host) bindable(n int) *mr.Region {
	h.t.Helper()
	buf := make([]byte, n)
	r, err := h.table.Register(pd, buf, mr.Address(buf), mr.LocalWrite|mr.MWBind)
	require.NoError(h.t, err)
	return r
}

// binding asks for a new window on all of a region.
func (h *host) binding(r *mr.Region) *mr.Binding {
	h.t.Helper()
	w, err := h.table.AllocWindow(pd)
	require.NoError(h.t, err)
	return mr.NewBinding(w, r, r.Base(), uint64(len(r.Bytes())), windowRights)
}

// bind binds a new window on all of a new region, by a work request.
func (h *host) bind(n int) *mr.Binding {
	h.t.Helper()
	b := h.binding(h.bindable(n))
	h.post(qp.SendWR{ID: 99, Op: qp.OpBindMW, Bind: b})
	require.Empty(h.t, h.drain(), "nothing goes over the wire")
	require.Equal(h.t, cq.WC{ID: 99, Opcode: cq.OpBindMW, QPN: h.qpn(), SrcQP: h.m.Attr().DestQPN}, h.sends[0])
	h.sends = nil
	return b
}

func (h *host) qpn() uint32 { return map[string]uint32{"A": 0x11, "B": 0x22}[h.name] }

// isBound reports whether the peer still reaches the window.
func (h *host) isBound(b *mr.Binding) bool {
	_, fault := h.table.ResolveRemote(pd, h.qpn(), b.RKey(), b.Base(), 1, mr.RemoteRead)
	return fault == mr.NoFault
}

// TestWindow proves access of all kinds through a window, by the peer and nobody else.
func TestWindow(t *testing.T) {
	p := newPair(t, defaults())
	b := p.b.bind(5000)
	want := p.a.fill(0, 5000, 1)
	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 5000), RemoteAddr: b.Base(), RKey: b.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(8000, 4000), RemoteAddr: b.Base() + 1000, RKey: b.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpFetchAdd, SGE: p.a.sge(16000, 8), RemoteAddr: b.Base() + 8, RKey: b.RKey(), Add: 1})
	p.settle()
	p.a.requireSends(ok(3)...)
	require.Equal(t, want[1000:], p.a.snapshot(8000, 4000))
	require.Equal(t, want[:8], b.Region().Bytes()[:8])
	require.Equal(t, want[8]+1, b.Region().Bytes()[8])
}

// TestWindowRefusals proves that a window is refused beyond its range, to another queue
// pair of its domain, and when it is not bound any more (C16): NAK remote access.
func TestWindowRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *pair, b *mr.Binding, wr *qp.SendWR)
		rule   transport.Rule
	}{
		"behind": {func(_ *pair, b *mr.Binding, wr *qp.SendWR) { wr.RemoteAddr += b.Len() - 7 }, transport.RuleRange},
		"before": {func(_ *pair, b *mr.Binding, wr *qp.SendWR) { wr.RemoteAddr-- }, transport.RuleRange},
		"another queue pair": {func(p *pair, b *mr.Binding, wr *qp.SendWR) {
			other := p.b.binding(b.Region())
			require.Equal(p.t, mr.NoFault, p.b.table.Bind(pd, 0x33, other))
			wr.RKey = other.RKey()
		}, transport.RuleWindowQP},
		"invalidated": {func(p *pair, b *mr.Binding, _ *qp.SendWR) {
			p.b.post(qp.SendWR{Op: qp.OpLocalInv, RKey: b.RKey()})
			p.settle()
		}, transport.RuleKey},
		"old key after a new bind": {func(p *pair, b *mr.Binding, _ *qp.SendWR) {
			p.b.post(qp.SendWR{Op: qp.OpLocalInv, RKey: b.RKey()})
			r := b.Region()
			next := mr.NewBinding(b.Window(), r, r.Base(), 64, windowRights)
			p.b.post(qp.SendWR{Op: qp.OpBindMW, Bind: next})
			p.settle()
			require.True(p.t, p.b.isBound(next))
		}, transport.RuleKey},
		"the region's own key": {func(_ *pair, b *mr.Binding, wr *qp.SendWR) { wr.RKey = b.Region().LKey() }, transport.RuleAccess},
	} {
		for _, op := range []qp.Op{qp.OpWrite, qp.OpRead} {
			t.Run(fmt.Sprintf("%s/%s", op, name), func(t *testing.T) {
				p := newPair(t, defaults())
				b := p.b.bind(64)
				wr := qp.SendWR{Op: op, SGE: p.a.sge(0, 8), RemoteAddr: b.Base(), RKey: b.RKey()}
				c.change(p, b, &wr)
				p.a.fill(0, 8, 1)
				p.a.post(wr)
				p.settle()
				p.a.requireSends(cq.StatusRemoteAccess)
				f, _ := p.b.m.Failure()
				require.Equal(t, c.rule, f.Rule)
				require.Equal(t, make([]byte, 64), b.Region().Bytes(), "nothing was written")
			})
		}
	}
}

// TestBindOrder proves that a bind is carried out when its turn comes, before the peer
// has answered what was posted earlier, unless it is fenced (10.8.3.3); and that it
// completes behind that.
func TestBindOrder(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 10)
	p.b.postRecv(2, 0, 10)
	r := p.a.bindable(64)
	plain, fenced := p.a.binding(r), p.a.binding(r)
	p.a.post(qp.SendWR{ID: 1, Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.a.post(qp.SendWR{ID: 2, Op: qp.OpRead, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.a.post(qp.SendWR{ID: 3, Op: qp.OpBindMW, Bind: plain})
	p.a.post(qp.SendWR{ID: 4, Op: qp.OpBindMW, Flags: qp.Fence, Bind: fenced})
	p.a.post(qp.SendWR{ID: 5, Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	sent := p.a.drain()
	require.Len(t, sent, 2, "what is behind the fence waits")
	require.Equal(t, transport.BlockedFence, p.a.m.Why())
	require.True(t, p.a.isBound(plain))
	require.False(t, p.a.isBound(fenced))
	require.Empty(t, p.a.sends)
	for _, pkt := range sent {
		p.b.recv(pkt)
	}
	p.settle()
	require.True(t, p.a.isBound(fenced))
	requireOrder(t, p.a, 5)
}

// TestLocalOperationComesLast proves that a local operation completes with the work
// before it, whatever that is, when nothing is posted behind it.
func TestLocalOperationComesLast(t *testing.T) {
	for _, op := range []qp.Op{qp.OpWrite, qp.OpRead, qp.OpFetchAdd} {
		p := newPair(t, defaults())
		r := p.a.bindable(64)
		p.a.post(qp.SendWR{ID: 1, Op: op, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
		p.a.post(qp.SendWR{ID: 2, Op: qp.OpBindMW, Bind: p.a.binding(r)})
		p.a.post(qp.SendWR{ID: 3, Op: qp.OpBindMW, Bind: p.a.binding(r)})
		p.settle()
		requireOrder(t, p.a, 3)
		require.Zero(t, p.a.sq.Len())
	}
}

func requireOrder(t *testing.T, h *host, n int) {
	t.Helper()
	h.requireSends(ok(n)...)
	for i, wc := range h.sends {
		require.EqualValues(t, i+1, wc.ID)
	}
}

// TestLocalInvalidateWaits proves R24: a local invalidate waits for all that was posted
// before, which may need the key, with a fence or without; what is behind it waits too.
func TestLocalInvalidateWaits(t *testing.T) {
	for _, flags := range []qp.Flags{0, qp.Fence} {
		p := newPair(t, defaults())
		b := p.a.bind(64)
		p.b.postRecv(1, 0, 10)
		p.b.postRecv(2, 0, 10)
		p.a.post(qp.SendWR{ID: 1, Op: qp.OpSend, SGE: p.a.sge(0, 10)})
		p.a.post(qp.SendWR{ID: 2, Op: qp.OpLocalInv, Flags: flags, RKey: b.RKey()})
		p.a.post(qp.SendWR{ID: 3, Op: qp.OpSend, SGE: p.a.sge(0, 10)})
		sent := p.a.drain()
		require.Len(t, sent, 1)
		require.Equal(t, transport.BlockedFence, p.a.m.Why())
		require.True(t, p.a.isBound(b))
		p.b.recv(sent[0])
		p.a.recv(p.b.next())
		require.True(t, p.a.isBound(b), "its turn comes with the next packet")
		require.Len(t, p.a.drain(), 1)
		require.False(t, p.a.isBound(b))
		require.Equal(t, cq.OpLocalInv, p.a.sends[1].Opcode)
		p.settle()
		requireOrder(t, p.a, 3)
	}
}

// TestLocalOperationsOnce proves that what goes back over local operations does not
// carry them out again, whichever packet is lost, and that all completes in order.
func TestLocalOperationsOnce(t *testing.T) {
	for nth := range 12 {
		p := newPair(t, defaults())
		p.lose = loseOnce(nth, func(*host, *packet) bool { return true })
		r := p.a.bindable(64)
		first, second := p.a.binding(r), p.a.binding(r)
		for id := range uint64(3) {
			p.b.postRecv(id, 0, 3000)
		}
		p.a.post(qp.SendWR{ID: 1, Op: qp.OpSend, SGE: p.a.sge(0, 3000)})
		p.a.post(qp.SendWR{ID: 2, Op: qp.OpBindMW, Bind: first})
		p.a.post(qp.SendWR{ID: 3, Op: qp.OpRead, SGE: p.a.sge(0, 3000), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
		p.a.post(qp.SendWR{ID: 4, Op: qp.OpBindMW, Bind: second})
		p.a.post(qp.SendWR{ID: 5, Op: qp.OpSend, SGE: p.a.sge(0, 3000)})
		p.a.post(qp.SendWR{ID: 6, Op: qp.OpLocalInv, RKey: first.RKey()})
		p.a.post(qp.SendWR{ID: 7, Op: qp.OpSend, SGE: p.a.sge(0, 10)})
		p.settle()
		requireOrder(t, p.a, 7)
		require.False(t, p.a.isBound(first))
		require.True(t, p.a.isBound(second))
	}
}

// TestBindRefused proves that a bind that cannot be carried out fails as such, behind
// what was posted before and before what was posted later, and that the peer sees
// nothing of it.
func TestBindRefused(t *testing.T) {
	for name, c := range map[string]struct {
		bind func(h *host, r *mr.Region) *mr.Binding
		rule transport.Rule
	}{
		"bound already": {func(h *host, r *mr.Region) *mr.Binding {
			b := h.binding(r)
			require.Equal(h.t, mr.NoFault, h.table.Bind(pd, h.qpn(), b))
			return mr.NewBinding(b.Window(), r, r.Base(), 64, 0)
		}, transport.RuleBindAgain},
		"window closed": {func(h *host, r *mr.Region) *mr.Binding {
			b := h.binding(r)
			h.table.FreeWindow(b.Window())
			return b
		}, transport.RuleBindGone},
		"region closed": {func(h *host, r *mr.Region) *mr.Binding {
			b := h.binding(r)
			h.table.Deregister(r)
			return b
		}, transport.RuleBindGone},
		"another domain": {func(h *host, r *mr.Region) *mr.Binding {
			w, err := h.table.AllocWindow(pd + 1)
			require.NoError(h.t, err)
			return mr.NewBinding(w, r, r.Base(), 64, 0)
		}, transport.RuleBindPD},
		"region without windows": {func(h *host, _ *mr.Region) *mr.Binding {
			return h.binding(h.mem)
		}, transport.RuleBindAccess},
		"outside": {func(h *host, r *mr.Region) *mr.Binding {
			return mr.NewBinding(h.binding(r).Window(), r, r.Base()+1, 64, 0)
		}, transport.RuleBindRange},
		"misaligned": {func(h *host, r *mr.Region) *mr.Binding {
			return mr.NewBinding(h.binding(r).Window(), r, r.Base()+1, 63, mr.RemoteAtomic|mr.ZeroBased)
		}, transport.RuleBindMisaligned},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			good := qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
			p.a.post(good)
			bad := qp.SendWR{ID: 2, Op: qp.OpBindMW, Bind: c.bind(p.a, p.a.bindable(64))}
			require.NoError(t, p.a.sq.Post(&bad, p.a), "unsignaled: failures complete all the same")
			p.a.post(good)
			p.settle()
			p.a.requireSends(cq.StatusSuccess, cq.StatusMWBind, cq.StatusFlushed)
			require.EqualValues(t, 2, p.a.sends[1].ID)
			f, _ := p.a.m.Failure()
			require.Equal(t, c.rule, f.Rule)
			require.False(t, f.Remote)
			require.Equal(t, qp.StateRTS, p.b.m.State())
		})
	}
}

// foreignKeys are keys that a queue pair may not invalidate.
var foreignKeys = map[string]func(h *host, mine *mr.Binding) mr.Key{
	"unknown":           func(*host, *mr.Binding) mr.Key { return 0xdeadbeef },
	"0":                 func(*host, *mr.Binding) mr.Key { return 0 },
	"another key byte":  func(_ *host, mine *mr.Binding) mr.Key { return mine.RKey() ^ 1 },
	"a region's":        func(h *host, _ *mr.Binding) mr.Key { return h.mem.RKey() },
	"bound elsewhere":   func(h *host, _ *mr.Binding) mr.Key { return h.bindFor(pd, 0x33).RKey() },
	"of another domain": func(h *host, _ *mr.Binding) mr.Key { return h.bindFor(pd+1, 0x34).RKey() },
	"not bound any more": func(h *host, _ *mr.Binding) mr.Key {
		b := h.bindFor(pd, h.qpn())
		require.True(h.t, h.table.Invalidate(pd, h.qpn(), b.RKey()))
		return b.RKey()
	},
	"of a closed window": func(h *host, _ *mr.Binding) mr.Key {
		b := h.bindFor(pd, h.qpn())
		h.table.FreeWindow(b.Window())
		return b.RKey()
	},
}

// bindFor binds a window for any queue pair.
func (h *host) bindFor(domain mr.PD, qpn uint32) *mr.Binding {
	h.t.Helper()
	buf := make([]byte, 64)
	r, err := h.table.Register(domain, buf, mr.Address(buf), mr.LocalWrite|mr.MWBind)
	require.NoError(h.t, err)
	w, err := h.table.AllocWindow(domain)
	require.NoError(h.t, err)
	b := mr.NewBinding(w, r, r.Base(), 64, windowRights)
	require.Equal(h.t, mr.NoFault, h.table.Bind(domain, qpn, b))
	return b
}

// TestLocalInvalidateRefused proves that invalidating what is not this queue pair's
// window fails, and invalidates nothing.
func TestLocalInvalidateRefused(t *testing.T) {
	for name, key := range foreignKeys {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			b := p.a.bind(64)
			p.a.post(qp.SendWR{Op: qp.OpLocalInv, RKey: key(p.a, b)})
			p.a.post(qp.SendWR{Op: qp.OpSend})
			p.settle()
			p.a.requireSends(cq.StatusLocalQPOperation, cq.StatusFlushed)
			f, _ := p.a.m.Failure()
			require.Equal(t, transport.RuleInvalidate, f.Rule)
			require.True(t, p.a.isBound(b))
		})
	}
}

// TestFlushedLocalOperations proves that ERR flushes local operations as all work, and
// carries none of them out.
func TestFlushedLocalOperations(t *testing.T) {
	p := newPair(t, defaults())
	b := p.a.bind(64)
	next := p.a.binding(b.Region())
	p.a.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	p.a.post(qp.SendWR{Op: qp.OpLocalInv, RKey: b.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpBindMW, Bind: next})
	p.a.m.Posted()
	p.a.requireSends(cq.StatusFlushed, cq.StatusFlushed)
	require.True(t, p.a.isBound(b))
	require.False(t, p.a.isBound(next))
}

// TestLocalOperationsAllocateNothing proves that only asking for a bind allocates.
func TestLocalOperationsAllocateNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	p := newPair(t, defaults())
	r := p.a.bindable(64)
	var made []*mr.Binding
	w := p.a.binding(r).Window()
	for range 101 {
		made = append(made, mr.NewBinding(w, r, r.Base(), 64, windowRights))
	}
	p.a.sends = make([]cq.WC, 0, 300)
	next := 0
	var o rc.Out
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b := made[next]
		next++
		bind := qp.SendWR{Op: qp.OpBindMW, Flags: qp.Signaled, Bind: b}
		inv := qp.SendWR{Op: qp.OpLocalInv, Flags: qp.Signaled, RKey: b.RKey()}
		if p.a.sq.Post(&bind, p.a) != nil || p.a.sq.Post(&inv, p.a) != nil {
			t.Fatal("the queue is full")
		}
		p.a.m.Next(p.now, transport.AllClasses, &o)
	}))
	require.Len(t, p.a.sends, 202)
	for _, wc := range p.a.sends {
		require.Equal(t, cq.StatusSuccess, wc.Status)
	}
}
