package mr_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/mr"
)

const (
	windowPD  mr.PD = 7
	windowQPN       = 0x123
	bindable        = mr.LocalWrite | mr.MWBind
	peers           = mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic
)

func window(t testing.TB, table *mr.Table, pd mr.PD) *mr.Window {
	t.Helper()
	w, err := table.AllocWindow(pd)
	require.NoError(t, err)
	return w
}

// bound is a window on part of a region, bound.
func bound(t testing.TB, table *mr.Table, r *mr.Region, addr, n uint64, access mr.Access) *mr.Window {
	t.Helper()
	w := window(t, table, r.PD())
	require.Equal(t, mr.NoFault, table.Bind(r.PD(), windowQPN, mr.NewBinding(w, r, addr, n, access)))
	return w
}

// C16, C10-72 to C10-75: what may be bound, and that nothing happens otherwise.
func TestBindRules(t *testing.T) {
	const iova = 0x1000
	for name, c := range map[string]struct {
		region   mr.Access
		iova     uint64
		regionPD mr.PD
		windowPD mr.PD
		addr, n  uint64
		access   mr.Access
		want     mr.Fault
	}{
		"all of it":                 {region: bindable, addr: iova, n: 64, access: peers},
		"one byte":                  {region: bindable, addr: iova + 63, n: 1, access: mr.RemoteWrite},
		"no rights at all":          {region: bindable, addr: iova, n: 1},
		"zero based":                {region: bindable, addr: iova + 8, n: 8, access: peers | mr.ZeroBased},
		"reading needs no write":    {region: mr.MWBind, addr: iova, n: 64, access: mr.RemoteRead},
		"region of another domain":  {region: bindable, regionPD: 8, addr: iova, n: 64, want: mr.FaultPD},
		"window of another domain":  {region: bindable, windowPD: 8, addr: iova, n: 64, want: mr.FaultPD},
		"both of another domain":    {region: bindable, regionPD: 8, windowPD: 8, addr: iova, n: 64, want: mr.FaultPD},
		"region permits no windows": {region: mr.LocalWrite | peers, addr: iova, n: 64, want: mr.FaultAccess},
		"region is zero based":      {region: bindable | mr.ZeroBased, iova: 0, addr: 0, n: 64, want: mr.FaultAccess},
		"write, region read-only":   {region: mr.MWBind, addr: iova, n: 64, access: mr.RemoteWrite, want: mr.FaultAccess},
		"atomic, region read-only":  {region: mr.MWBind, addr: iova, n: 64, access: mr.RemoteAtomic, want: mr.FaultAccess},
		"local right":               {region: bindable, addr: iova, n: 64, access: mr.LocalWrite, want: mr.FaultAccess},
		"right to bind":             {region: bindable, addr: iova, n: 64, access: mr.MWBind, want: mr.FaultAccess},
		"polled is the region's":    {region: bindable, addr: iova, n: 64, access: mr.Polled, want: mr.FaultAccess},
		"empty":                     {region: bindable, addr: iova, n: 0, want: mr.FaultRange},
		"one byte before":           {region: bindable, addr: iova - 1, n: 2, want: mr.FaultRange},
		"one byte behind":           {region: bindable, addr: iova + 63, n: 2, want: mr.FaultRange},
		"longer":                    {region: bindable, addr: iova, n: 65, want: mr.FaultRange},
		"past the end of addresses": {region: bindable, addr: iova + 1, n: math.MaxUint64, want: mr.FaultRange},
		"atomics misaligned":        {region: bindable, iova: iova + 4, addr: iova + 4, n: 60, access: mr.RemoteAtomic, want: mr.FaultMisaligned},
		"atomics, zero based":       {region: bindable, addr: iova + 4, n: 60, access: mr.RemoteAtomic | mr.ZeroBased, want: mr.FaultMisaligned},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable(1)
			or := func(pd mr.PD) mr.PD {
				if pd == 0 {
					return windowPD
				}
				return pd
			}
			if c.iova == 0 && c.region&mr.ZeroBased == 0 {
				c.iova = iova
			}
			r := register(t, table, or(c.regionPD), aligned(64, 0), c.iova, c.region)
			w := window(t, table, or(c.windowPD))
			b := mr.NewBinding(w, r, c.addr, c.n, c.access)
			require.Equal(t, c.want, table.Bind(windowPD, windowQPN, b))
			if c.want == mr.NoFault {
				require.Same(t, b, w.Bound())
				return
			}
			require.Nil(t, w.Bound())
			_, fault := table.ResolveRemote(windowPD, windowQPN, b.RKey(), c.addr, 1, 0)
			require.Equal(t, mr.FaultKey, fault)
			require.True(t, table.Deregister(r), "nothing is bound to it")
		})
	}
}

// What was closed, bound or used before cannot be bound.
func TestBindOfWhatIsGone(t *testing.T) {
	table := newTable(1)
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable)
	bind := func(b *mr.Binding) mr.Fault { return table.Bind(windowPD, windowQPN, b) }
	w := window(t, table, windowPD)
	first := mr.NewBinding(w, r, 0, 64, mr.RemoteRead)
	second := mr.NewBinding(w, r, 0, 64, mr.RemoteRead)
	require.NotEqual(t, first.RKey(), second.RKey())
	require.Equal(t, mr.NoFault, bind(first))
	require.Equal(t, mr.FaultBound, bind(second), "bound windows are invalidated first")
	require.Equal(t, mr.FaultGone, bind(first))
	require.True(t, table.Invalidate(windowPD, windowQPN, first.RKey()))
	require.Equal(t, mr.FaultGone, bind(first), "its key has been used")
	require.Equal(t, mr.NoFault, bind(second))

	table.FreeWindow(w)
	table.FreeWindow(w)
	require.Nil(t, w.Bound())
	require.Equal(t, mr.FaultGone, bind(mr.NewBinding(w, r, 0, 64, 0)), "the window is closed")
	w = window(t, table, windowPD)
	require.Equal(t, mr.FaultGone, bind(mr.NewBinding(w, nil, 0, 64, 0)), "no region")
	other := newTable(2)
	require.Equal(t, mr.FaultGone, other.Bind(windowPD, windowQPN, mr.NewBinding(w, r, 0, 64, 0)), "another device's window")
	foreign := register(t, other, windowPD, aligned(64, 0), 0, bindable)
	require.Equal(t, mr.FaultGone, bind(mr.NewBinding(w, foreign, 0, 64, 0)), "another device's region")
	b := mr.NewBinding(w, r, 0, 64, 0)
	require.True(t, table.Deregister(r))
	require.Equal(t, mr.FaultGone, bind(b), "the region is closed")
}

// Who reaches what through a window.
func TestAccessThroughWindow(t *testing.T) {
	const iova = 0x1000
	table := newTable(1)
	buf := aligned(64, 0)
	r := register(t, table, windowPD, buf, iova, bindable|mr.Polled)
	require.Zero(t, r.RKey(), "the region itself permits peers nothing")
	plain := bound(t, table, r, iova+16, 32, mr.RemoteWrite).Bound()
	zero := bound(t, table, r, iova+16, 32, mr.RemoteRead|mr.ZeroBased).Bound()
	require.EqualValues(t, iova+16, plain.Base())
	require.Zero(t, zero.Base())
	for name, c := range map[string]struct {
		pd   mr.PD
		qpn  uint32
		key  mr.Key
		va   uint64
		n    uint32
		need mr.Access
		want mr.Fault
	}{
		"first byte":           {windowPD, windowQPN, plain.RKey(), iova + 16, 1, mr.RemoteWrite, mr.NoFault},
		"all":                  {windowPD, windowQPN, plain.RKey(), iova + 16, 32, mr.RemoteWrite, mr.NoFault},
		"last byte":            {windowPD, windowQPN, plain.RKey(), iova + 47, 1, mr.RemoteWrite, mr.NoFault},
		"before":               {windowPD, windowQPN, plain.RKey(), iova + 15, 1, mr.RemoteWrite, mr.FaultRange},
		"behind":               {windowPD, windowQPN, plain.RKey(), iova + 47, 2, mr.RemoteWrite, mr.FaultRange},
		"huge":                 {windowPD, windowQPN, plain.RKey(), iova + 16, math.MaxUint32, mr.RemoteWrite, mr.FaultRange},
		"right not granted":    {windowPD, windowQPN, plain.RKey(), iova + 16, 1, mr.RemoteRead, mr.FaultAccess},
		"another queue pair":   {windowPD, windowQPN + 1, plain.RKey(), iova + 16, 1, mr.RemoteWrite, mr.FaultQP},
		"another domain":       {windowPD + 1, windowQPN, plain.RKey(), iova + 16, 1, mr.RemoteWrite, mr.FaultPD},
		"another key byte":     {windowPD, windowQPN, plain.RKey() ^ 1, iova + 16, 1, mr.RemoteWrite, mr.FaultKey},
		"zero based":           {windowPD, windowQPN, zero.RKey(), 0, 32, mr.RemoteRead, mr.NoFault},
		"zero based, behind":   {windowPD, windowQPN, zero.RKey(), 1, 32, mr.RemoteRead, mr.FaultRange},
		"zero based, region's": {windowPD, windowQPN, zero.RKey(), iova + 16, 1, mr.RemoteRead, mr.FaultRange},
		"the region's key":     {windowPD, windowQPN, r.LKey(), iova + 16, 1, mr.RemoteWrite, mr.FaultAccess},
		"nothing, junk key":    {windowPD, windowQPN, 0xdeadbeef, 0, 0, mr.RemoteWrite, mr.NoFault},
	} {
		span, fault := table.ResolveRemote(c.pd, c.qpn, c.key, c.va, c.n, c.need)
		require.Equal(t, c.want, fault, name)
		require.Len(t, span.Bytes, map[bool]int{true: int(c.n)}[fault == mr.NoFault], name)
		if len(span.Bytes) > 0 {
			require.True(t, span.Polled, "%s: as the region", name)
			require.Equal(t, len(span.Bytes), cap(span.Bytes), name)
		}
	}
	span, _ := table.ResolveRemote(windowPD, windowQPN, zero.RKey(), 3, 1, mr.RemoteRead)
	require.Same(t, &buf[19], &span.Bytes[0])
	_, fault := table.Resolve(windowPD, plain.RKey(), iova+16, 1, 0)
	require.Equal(t, mr.FaultKey, fault, "a window's key is no L_Key")
}

// Only a bound window's own queue pair invalidates it, by its whole key, once.
func TestInvalidate(t *testing.T) {
	table := newTable(1)
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable|peers)
	b := bound(t, table, r, 0, 64, mr.RemoteRead).Bound()
	for name, c := range map[string]struct {
		pd  mr.PD
		qpn uint32
		key mr.Key
	}{
		"another queue pair": {windowPD, windowQPN + 1, b.RKey()},
		"another domain":     {windowPD + 1, windowQPN, b.RKey()},
		"another key byte":   {windowPD, windowQPN, b.RKey() ^ 1},
		"a region's key":     {windowPD, windowQPN, r.RKey()},
		"key 0":              {windowPD, windowQPN, 0},
	} {
		require.False(t, table.Invalidate(c.pd, c.qpn, c.key), name)
	}
	_, fault := table.ResolveRemote(windowPD, windowQPN, b.RKey(), 0, 64, mr.RemoteRead)
	require.Equal(t, mr.NoFault, fault, "still bound")
	require.False(t, table.Deregister(r), "a window is bound to it")
	_, fault = table.ResolveRemote(windowPD, windowQPN, r.RKey(), 0, 64, mr.RemoteRead)
	require.Equal(t, mr.NoFault, fault, "and still registered")

	require.True(t, table.Invalidate(windowPD, windowQPN, b.RKey()))
	require.False(t, table.Invalidate(windowPD, windowQPN, b.RKey()), "not bound any more")
	_, fault = table.ResolveRemote(windowPD, windowQPN, b.RKey(), 0, 64, mr.RemoteRead)
	require.Equal(t, mr.FaultKey, fault)
	require.True(t, table.Deregister(r))
}

// A queue pair that goes takes its windows' bindings along, and no others.
func TestRelease(t *testing.T) {
	table := newTable(1)
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable)
	w := bound(t, table, r, 0, 64, mr.RemoteRead)
	table.Release(w, windowQPN+1)
	require.NotNil(t, w.Bound())
	table.Release(w, windowQPN)
	table.Release(w, windowQPN)
	require.Nil(t, w.Bound())
	require.True(t, table.Deregister(r))
}

// The key byte changes with each bind, takes every value, and rests for 128 binds;
// the index stays (C16: every key byte can be bound).
func TestWindowKeysChange(t *testing.T) {
	table := newTable(testenv.Seed(t))
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable)
	w := window(t, table, windowPD)
	last := map[mr.Key]int{}
	for i := range 20 * 256 {
		b := mr.NewBinding(w, r, 0, 64, 0)
		require.Equal(t, mr.NoFault, table.Bind(windowPD, windowQPN, b))
		require.EqualValues(t, w.Index(), b.RKey()>>8)
		before, seen := last[b.RKey()]
		require.True(t, !seen || i-before > 128, "key 0x%08x came back after %d binds", b.RKey(), i-before)
		last[b.RKey()] = i
		require.True(t, table.Invalidate(windowPD, windowQPN, b.RKey()))
	}
	require.Len(t, last, 256)
}

// The index of a closed window rests as that of a region does.
func TestFreedWindowRests(t *testing.T) {
	table := newTable(testenv.Seed(t))
	w := window(t, table, windowPD)
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable)
	key := mr.NewBinding(w, r, 0, 64, 0).RKey()
	table.FreeWindow(w)
	for n := 1; ; n++ {
		next := window(t, table, windowPD)
		if next.Index() == w.Index() {
			require.Greater(t, n, 1024)
			require.NotEqual(t, key, mr.NewBinding(next, r, 0, 64, 0).RKey())
			return
		}
		require.Less(t, n, 5000, "the index never comes back: the table would leak")
		table.FreeWindow(next)
	}
}

func TestBindAllocatesNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	table := newTable(1)
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable)
	w := window(t, table, windowPD)
	var made []*mr.Binding
	for range 101 {
		made = append(made, mr.NewBinding(w, r, 0, 64, mr.RemoteRead))
	}
	next := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b := made[next]
		next++
		fault := table.Bind(windowPD, windowQPN, b)
		_, reached := table.ResolveRemote(windowPD, windowQPN, b.RKey(), 8, 8, mr.RemoteRead)
		if fault != mr.NoFault || reached != mr.NoFault || !table.Invalidate(windowPD, windowQPN, b.RKey()) {
			t.Fatal(fault, reached)
		}
	}))
}

// Under the race detector: look-ups beside binds, of live and of dead keys.
func TestResolveBesideBinding(t *testing.T) {
	table := newTable(testenv.Seed(t))
	r := register(t, table, windowPD, aligned(64, 0), 0, bindable)
	steady := bound(t, table, r, 0, 64, mr.RemoteRead).Bound().RKey()
	keys := make(chan mr.Key, 64)
	var binder, readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for key := range keys {
				if _, fault := table.ResolveRemote(windowPD, windowQPN, steady, 8, 8, mr.RemoteRead); fault != mr.NoFault {
					t.Errorf("a bound window did not resolve: %v", fault)
				}
				if span, fault := table.ResolveRemote(windowPD, windowQPN, key, 8, 8, mr.RemoteRead); fault == mr.NoFault && len(span.Bytes) != 8 {
					t.Errorf("%d bytes", len(span.Bytes))
				}
				table.Resolve(windowPD, key, 8, 8, 0)
			}
		})
	}
	binder.Go(func() {
		w := window(t, table, windowPD)
		for range 3000 {
			b := mr.NewBinding(w, r, 0, 64, mr.RemoteRead)
			if fault := table.Bind(windowPD, windowQPN, b); fault != mr.NoFault {
				t.Error(fault)
			}
			keys <- b.RKey()
			table.Invalidate(windowPD, windowQPN, b.RKey())
		}
	})
	binder.Wait()
	close(keys)
	readers.Wait()
}
