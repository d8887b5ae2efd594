package roce_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/transport"
)

const (
	windowRights = roce.AccessRemoteWrite | roce.AccessRemoteRead | roce.AccessRemoteAtomic
	bindable     = roce.AccessLocalWrite | roce.AccessMWBind
)

// window is a window of the end's that is not bound, and a region for it that permits
// peers nothing by itself.
func (e *end) window() (*roce.MW, *roce.MR) {
	e.t.Helper()
	w, err := e.pd.AllocMW()
	require.NoError(e.t, err)
	m, err := e.pd.RegMR(make([]byte, 4096), bindable)
	require.NoError(e.t, err)
	return w, m
}

// bind binds a window on 1,000 bytes of a new region, from 96 on.
func (p *pair) bind(e *end, access roce.Access) (*roce.MW, *roce.MR) {
	p.t.Helper()
	w, m := e.window()
	wr := w.Bind(m, 96, 1000, access)
	require.Zero(p.t, w.Remote(), "not bound yet")
	wr.ID, wr.Flags = 9, roce.Signaled
	e.send(wr)
	wc := p.wait(e, 1)[0]
	require.NoError(p.t, wc.Err())
	require.EqualValues(p.t, 9, wc.ID)
	require.Equal(p.t, roce.WCBindMW, wc.Opcode)
	require.Equal(p.t, wr.RKey, w.RKey())
	return w, m
}

// The life of a window: bound, used by the peer, invalidated by its SEND, bound anew
// under another key, invalidated here; its region stays for as long as it is bound.
func TestMemoryWindow(t *testing.T) {
	for name, zero := range map[string]roce.Access{"addresses of the region": 0, "zero based": roce.AccessZeroBased} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			w, m := p.bind(p.b, windowRights|zero)
			fill(p.a.mr.Bytes(), 1)
			remote := w.Remote()
			require.EqualValues(t, 1000, remote.Len)
			if zero != 0 {
				require.Zero(t, remote.Addr)
			} else {
				require.Equal(t, m.SGE(96, 1).Addr, remote.Addr)
			}

			write := roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 1000), RemoteAddr: remote.Addr, RKey: remote.Key}
			read := roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(5000, 996), RemoteAddr: remote.Addr + 4, RKey: remote.Key, Flags: roce.Signaled}
			p.a.send(write, read)
			require.NoError(t, p.wait(p.a, 1)[0].Err())
			require.Equal(t, p.a.mr.Bytes()[:1000], m.Bytes()[96:1096])
			require.Equal(t, make([]byte, 96), m.Bytes()[:96], "nothing before the window is touched")
			require.Equal(t, make([]byte, 4096-1096), m.Bytes()[1096:], "and nothing behind it")
			require.Equal(t, m.Bytes()[100:1096], p.a.mr.Bytes()[5000:5996])

			err := m.Close()
			require.ErrorContains(t, err, w.String())
			require.ErrorContains(t, err, "invalidate or close them first")

			p.b.recv(7, 0, 100)
			p.a.send(roce.SendWR{Op: roce.OpSendInv, SGE: p.a.mr.SGE(0, 64), RKey: remote.Key, Flags: roce.Signaled})
			got := p.wait(p.b, 1)[0]
			require.NoError(t, got.Err())
			require.Equal(t, roce.WCFlagInv, got.Flags)
			require.EqualValues(t, remote.Key, got.InvalidatedKey)
			require.EqualValues(t, 64, got.ByteLen)
			sent := p.wait(p.a, 1)[0]
			require.NoError(t, sent.Err())
			require.Equal(t, roce.WCSend, sent.Opcode)
			require.Zero(t, sent.Flags, "the sender's completion carries no key")
			require.Zero(t, w.RKey())
			require.Zero(t, w.Remote())

			again := w.Bind(m, 0, 8, roce.AccessRemoteRead)
			require.Equal(t, remote.Key>>8, again.RKey>>8, "the index stays")
			require.NotEqual(t, remote.Key, again.RKey)
			p.b.send(again, roce.SendWR{Op: roce.OpLocalInv, RKey: again.RKey, Flags: roce.Signaled})
			wc := p.wait(p.b, 1)[0]
			require.NoError(t, wc.Err())
			require.Equal(t, roce.WCLocalInv, wc.Opcode)

			require.NoError(t, m.Close())
			require.NoError(t, w.Close())
			require.NoError(t, w.Close())
		})
	}
}

// What the owner of a window did wrong, and what both ends say when the peer uses it
// wrongly.
func TestWindowErrors(t *testing.T) {
	for name, c := range map[string]struct {
		wr     func(p *pair) roce.SendWR
		by     string
		status roce.Status
		rule   transport.Rule
		remedy string
	}{
		"bound twice": {func(p *pair) roce.SendWR {
			w, m := p.bind(p.b, windowRights)
			return w.Bind(m, 0, 8, 0)
		}, "owner", roce.StatusMWBind, transport.RuleBindAgain, "invalidate the window"},
		"posted twice": {func(p *pair) roce.SendWR {
			w, m := p.b.window()
			wr := w.Bind(m, 0, 8, 0)
			p.b.send(wr, roce.SendWR{Op: roce.OpLocalInv, RKey: wr.RKey, Flags: roce.Signaled})
			p.wait(p.b, 1)
			return wr
		}, "owner", roce.StatusMWBind, transport.RuleBindGone, "a request for each bind"},
		"region permits none": {func(p *pair) roce.SendWR {
			w, _ := p.b.window()
			return w.Bind(p.b.mr, 0, 8, 0)
		}, "owner", roce.StatusMWBind, transport.RuleBindAccess, "AccessMWBind"},
		"empty": {func(p *pair) roce.SendWR {
			w, m := p.b.window()
			return w.Bind(m, 8, 0, 0)
		}, "owner", roce.StatusMWBind, transport.RuleBindRange, "at least one byte"},
		"another domain": {func(p *pair) roce.SendWR {
			pd, err := p.b.dev.AllocPD()
			require.NoError(p.t, err)
			w, err := pd.AllocMW()
			require.NoError(p.t, err)
			_, m := p.b.window()
			return w.Bind(m, 0, 8, 0)
		}, "owner", roce.StatusMWBind, transport.RuleBindPD, "from one PD"},
		"another device": {func(p *pair) roce.SendWR {
			w, m := p.a.window()
			return w.Bind(m, 0, 8, 0)
		}, "owner", roce.StatusMWBind, transport.RuleBindGone, "open until"},
		"atomics misaligned": {func(p *pair) roce.SendWR {
			w, m := p.b.window()
			return w.Bind(m, 4, 8, roce.AccessRemoteAtomic|roce.AccessZeroBased)
		}, "owner", roce.StatusMWBind, transport.RuleBindMisaligned, "modulo 8"},
		"invalidates a region": {func(p *pair) roce.SendWR {
			return roce.SendWR{Op: roce.OpLocalInv, RKey: p.b.mr.Remote().Key}
		}, "owner", roce.StatusLocalQPOperation, transport.RuleInvalidate, "the peer may have done it"},
		"peer invalidates a region": {func(p *pair) roce.SendWR {
			p.b.recv(1, 0, 8)
			return roce.SendWR{Op: roce.OpSendInv, RKey: p.b.mr.Remote().Key}
		}, "peer", roce.StatusRemoteAccess, transport.RuleInvalidate, "each once"},
		"peer on another connection": {func(p *pair) roce.SendWR {
			q, err := p.b.pd.CreateQP(roce.QPConfig{SendCQ: p.b.cq})
			require.NoError(p.t, err)
			require.NoError(p.t, q.Connect(p.a.qp.Info()))
			w, m := p.b.window()
			bind := w.Bind(m, 0, 8, windowRights)
			bind.Flags = roce.Signaled
			_, err = q.PostSend(bind)
			require.NoError(p.t, err)
			require.NoError(p.t, p.wait(p.b, 1)[0].Err())
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: w.Remote().Addr, RKey: w.RKey()}
		}, "peer", roce.StatusRemoteAccess, transport.RuleWindowQP, "the connection that it was bound for"},
		"peer beyond the window": {func(p *pair) roce.SendWR {
			w, _ := p.bind(p.b, windowRights)
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: w.Remote().Addr + 993, RKey: w.RKey()}
		}, "peer", roce.StatusRemoteAccess, transport.RuleRange, "may not touch"},
		"peer without the right": {func(p *pair) roce.SendWR {
			w, _ := p.bind(p.b, roce.AccessRemoteWrite)
			return roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(0, 8), RemoteAddr: w.Remote().Addr, RKey: w.RKey()}
		}, "peer", roce.StatusRemoteAccess, transport.RuleAccess, "may not touch"},
		"window was closed": {func(p *pair) roce.SendWR {
			w, m := p.bind(p.b, windowRights)
			r := w.Remote()
			require.NoError(p.t, w.Close())
			require.NoError(p.t, m.Close())
			return roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr, RKey: r.Key}
		}, "peer", roce.StatusRemoteAccess, transport.RuleKey, "may not touch"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			wr := c.wr(p)
			wr.Flags = roce.Signaled
			from := map[string]*end{"owner": p.b, "peer": p.a}[c.by]
			from.send(wr)
			require.Equal(t, c.status, p.wait(from, 1)[0].Status)
			var why *roce.QPError
			require.ErrorAs(t, p.b.qp.Err(), &why)
			require.Equal(t, c.rule, why.Rule)
			require.ErrorContains(t, why, c.remedy)
			t.Log(why)
		})
	}
	p := newPair(t)
	_, err := p.a.qp.PostSend(roce.SendWR{Op: roce.OpBindMW})
	var wrong *roce.WRError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "Bind", wrong.Field)
	w, m := p.a.window()
	require.Panics(t, func() { w.Bind(m, 1, 4096, 0) }, "outside the region")
}

// C14: lifetimes. A domain names its windows; a queue pair takes bindings along; a
// device closes all of it, in an order that works.
func TestWindowLifetimes(t *testing.T) {
	p := newPair(t)
	w, m := p.bind(p.b, windowRights)
	require.ErrorContains(t, p.b.pd.Close(), w.String())
	require.ErrorContains(t, m.Close(), w.String())
	other, _ := p.b.window()
	require.NotContains(t, m.Close().Error(), other.String(), "only what is bound to it")
	require.NoError(t, p.b.qp.Close())
	require.Zero(t, w.RKey(), "its queue pair is gone")
	require.NoError(t, m.Close())

	_, bound := p.bind(p.a, windowRights)
	require.Error(t, bound.Close())
	require.NoError(t, p.a.dev.Close())
	require.NoError(t, bound.Close())
	_, err := p.a.pd.AllocMW()
	require.Error(t, err)
}

// Only MW.Bind allocates, its request.
func TestWindowAllocations(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	p := newPair(t)
	w, m := p.b.window()
	out := make([]roce.WC, 4)
	require.EqualValues(t, 1, testing.AllocsPerRun(100, func() {
		bind := w.Bind(m, 0, 4096, windowRights)
		_, err := p.b.qp.PostSend(bind)
		if err != nil {
			t.Fatal(err)
		}
		_, err1 := p.b.qp.PostRecv(roce.RecvWR{SGE: p.b.mr.SGE(0, 64)})
		_, err2 := p.a.qp.PostSend(
			roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 4096), RemoteAddr: m.SGE(0, 1).Addr, RKey: bind.RKey},
			roce.SendWR{Op: roce.OpSendInv, SGE: p.a.mr.SGE(0, 64), RKey: bind.RKey, Flags: roce.Signaled})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		p.b.dev.Poll() // binds before the peer's first packet is there
		for n := 0; n < 2; n += p.a.cq.Poll(out) + p.b.cq.Poll(out) {
			if _, err := p.world.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}))
	require.NoError(t, p.a.qp.Err())
}

// Conn's calls on windows, from many goroutines, each with a window of its own.
func TestConnWindows(t *testing.T) {
	_, a, b := newConns(t)
	ctx := testContext(t)
	var callers sync.WaitGroup
	offers := make(chan roce.Remote)
	for range 4 {
		callers.Go(func() {
			w, err1 := b.pd.AllocMW()
			m, err2 := b.pd.RegMR(make([]byte, 2000), bindable)
			if err1 != nil || err2 != nil {
				t.Error(err1, err2)
				return
			}
			for range 50 {
				r, err := b.conn.Bind(ctx, w, m, 0, 2000, windowRights|roce.AccessZeroBased)
				if err != nil {
					t.Error(err)
					return
				}
				offers <- r
				// Whose window the message invalidates is any of the four; but of all
				// the bound ones each is invalidated once.
				got, err := b.conn.Recv(ctx, b.mr.SGE(0, 0))
				if err != nil || got.Invalidated == 0 {
					t.Errorf("received %+v, %v", got, err)
					return
				}
				for w.RKey() != 0 {
					runtime.Gosched()
				}
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r := range offers {
			if err := a.conn.Write(ctx, a.mr.SGE(0, 2000), r); err != nil {
				t.Error(err)
			}
			if err := a.conn.SendInv(ctx, a.mr.SGE(0, 0), r.Key); err != nil {
				t.Error(err)
			}
		}
	}()
	callers.Wait()
	close(offers)
	<-done

	w, err := b.pd.AllocMW()
	require.NoError(t, err)
	m, err := b.pd.RegMR(make([]byte, 2000), bindable)
	require.NoError(t, err)
	r, err := b.conn.Bind(ctx, w, m, 8, 8, windowRights)
	require.NoError(t, err)
	require.NoError(t, b.conn.Invalidate(ctx, r.Key))
	var refused *roce.RemoteError
	require.ErrorAs(t, a.conn.Write(ctx, a.mr.SGE(0, 8), r), &refused)
	require.Equal(t, roce.StatusRemoteAccess, refused.Status)
}

// Windows are closed, and their queue pair, while the peer writes through them: nothing
// is written any more when Close returns.
func TestCloseWindowUnderTraffic(t *testing.T) {
	for name, end := range map[string]func(w *roce.MW, b *connEnd) error{
		"window": func(w *roce.MW, _ *connEnd) error { return w.Close() },
		"conn":   func(_ *roce.MW, b *connEnd) error { return b.conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			_, a, b := newConns(t, roce.WithRetry(16, 1, 7))
			w, err := b.pd.AllocMW()
			require.NoError(t, err)
			m, err := b.pd.RegMR(make([]byte, 4096), bindable)
			require.NoError(t, err)
			r, err := b.conn.Bind(testContext(t), w, m, 0, 4096, windowRights)
			require.NoError(t, err)
			busy, over := make(chan struct{}, 1), make(chan struct{})
			go func() {
				defer close(over)
				for a.conn.Write(testContext(t), a.mr.SGE(0, 4096), r) == nil {
					select {
					case busy <- struct{}{}:
					default:
					}
				}
			}()
			for range 20 {
				<-busy
			}
			require.NoError(t, end(w, b))
			require.NoError(t, m.Close(), "nothing is bound to it")
			clear(m.Bytes()) // a race, if the device still wrote here
			<-over
		})
	}
}

// Everything about windows is in the trace and in the counters under its name.
func TestWindowCounters(t *testing.T) {
	p := newPair(t)
	p.b.recv(1, 0, 8)
	p.a.send(roce.SendWR{Op: roce.OpSendInv, RKey: 0xdead, Flags: roce.Signaled})
	p.wait(p.a, 1)
	counters := map[string]uint64{}
	for _, c := range p.b.dev.Stats() {
		counters[c.Name] = c.Value
	}
	require.EqualValues(t, 1, counters["received: "+transport.RuleInvalidate.String()], counters)
}
