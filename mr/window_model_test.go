package mr_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/mr"
)

// TestWindowModel holds the table against an oracle, over random histories of
// regions, windows, binds, invalidations and accesses by live, dead and guessed keys:
// an access is permitted when the oracle says so, and no byte outside it ever changes.
func TestWindowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &windowModel{table: newTable(rapid.Uint64().Draw(t, "seed")), open: map[mr.Key]*opening{}}
		for range 3 {
			m.register(t)
			m.alloc(t)
			m.bind(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": m.register, "deregister": m.deregister, "alloc": m.alloc, "free": m.free,
			"bind": m.bind, "invalidate": m.invalidate, "release": m.release, "access": m.access,
			"": m.compare,
		})
	})
}

type windowModel struct {
	table   *mr.Table
	regions []*modelRegion
	windows []*mr.Window
	open    map[mr.Key]*opening // what each key opens now
	keys    []mr.Key            // all there ever were
}

// modelRegion is a region in the middle of memory that must not change around it.
type modelRegion struct {
	*mr.Region
	memory, want []byte
	closed       bool
}

const canary = 16

// opening is what a key opens, as the oracle sees it.
type opening struct {
	region *modelRegion
	window *mr.Window
	pd     mr.PD
	qpn    uint32
	rights mr.Access
	base   uint64 // the address of …
	off    int    // … this byte of the region
	n      int
}

// Domains and queue pairs are mostly the same ones, or little would be permitted.
func pdOf(t *rapid.T, label string) mr.PD {
	return rapid.SampledFrom([]mr.PD{1, 1, 1, 1, 1, 1, 2}).Draw(t, label)
}

func qpnOf(t *rapid.T, label string) uint32 {
	return rapid.SampledFrom([]uint32{5, 5, 5, 6}).Draw(t, label)
}

func pick[T any](t *rapid.T, label string, from []T) T {
	if len(from) == 0 {
		t.Skip("there is none yet: " + label)
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, label)]
}

// key is one that there was, mostly a newer one: those are more likely alive.
func (m *windowModel) key(t *rapid.T) mr.Key {
	if rapid.Bool().Draw(t, "any key") {
		return pick(t, "key", m.keys)
	}
	return pick(t, "new key", m.keys[max(len(m.keys)-5, 0):])
}

func rights(t *rapid.T, label string, of ...mr.Access) (a mr.Access) {
	for i, r := range of {
		if rapid.Bool().Draw(t, fmt.Sprint(label, i)) {
			a |= r
		}
	}
	return a
}

func (m *windowModel) register(t *rapid.T) {
	n := rapid.IntRange(1, 64).Draw(t, "len")
	r := &modelRegion{memory: aligned(n+2*canary, 0)}
	r.want = bytes.Clone(r.memory)
	access := mr.LocalWrite | rights(t, "right", mr.RemoteWrite, mr.RemoteRead)
	if rapid.IntRange(0, 5).Draw(t, "no windows") > 0 {
		access |= mr.MWBind
	}
	iova := 8 * rapid.Uint64Range(0, 1<<20).Draw(t, "iova/8")
	var err error
	r.Region, err = m.table.Register(pdOf(t, "pd"), r.memory[canary:canary+n:canary+n], iova, access)
	if err != nil {
		t.Fatal(err)
	}
	m.regions = append(m.regions, r)
	m.keys = append(m.keys, r.LKey())
	m.open[r.LKey()] = &opening{region: r, pd: r.PD(), rights: access, base: iova, n: n}
}

func (m *windowModel) deregister(t *rapid.T) {
	r := pick(t, "region", m.regions)
	inUse := false
	for _, o := range m.open {
		inUse = inUse || o.window != nil && o.region == r
	}
	if gone := m.table.Deregister(r.Region); gone == inUse {
		t.Fatalf("deregistered: %v, windows bound: %v", gone, inUse)
	}
	if !inUse {
		r.closed = true
		delete(m.open, r.LKey())
	}
}

func (m *windowModel) alloc(t *rapid.T) {
	w, err := m.table.AllocWindow(pdOf(t, "pd"))
	if err != nil {
		t.Fatal(err)
	}
	m.windows = append(m.windows, w)
}

func (m *windowModel) free(t *rapid.T) {
	i := rapid.IntRange(0, max(len(m.windows)-1, 0)).Draw(t, "window")
	if len(m.windows) == 0 {
		t.Skip("no window")
	}
	m.table.FreeWindow(m.windows[i])
	m.unbound(m.windows[i])
	m.windows = append(m.windows[:i], m.windows[i+1:]...)
}

// unbound forgets what a window shows, and reports whether it showed anything.
func (m *windowModel) unbound(w *mr.Window) bool {
	for k, o := range m.open {
		if o.window == w {
			delete(m.open, k)
			return true
		}
	}
	return false
}

func (m *windowModel) bind(t *rapid.T) {
	w, r := pick(t, "window", m.windows), pick(t, "region", m.regions)
	size := len(r.Bytes())
	o := &opening{
		region: r, window: w, pd: w.PD(), qpn: qpnOf(t, "qpn"),
		off:    rapid.IntRange(-1, size).Draw(t, "off"),
		rights: rights(t, "right", mr.RemoteWrite, mr.RemoteRead, mr.ZeroBased),
	}
	o.n = rapid.IntRange(0, max(size-o.off, 0)+1).Draw(t, "n")
	o.base = r.Base() + uint64(o.off)
	b := mr.NewBinding(w, r.Region, o.base, uint64(o.n), o.rights)
	m.keys = append(m.keys, b.RKey())
	if o.rights&mr.ZeroBased != 0 {
		o.base = 0
	}
	pd := pdOf(t, "queue pair's pd")
	may := !r.closed && w.Bound() == nil && pd == w.PD() && pd == r.PD() && r.Access()&mr.MWBind != 0 &&
		o.n > 0 && o.off >= 0 && o.off+o.n <= size
	if fault := m.table.Bind(pd, o.qpn, b); may != (fault == mr.NoFault) {
		t.Fatalf("bind: %v, the oracle says %v", fault, may)
	}
	if may {
		m.open[b.RKey()] = o
	}
}

func (m *windowModel) invalidate(t *rapid.T) {
	for range 4 {
		m.invalidateOnce(t)
	}
}

func (m *windowModel) invalidateOnce(t *rapid.T) {
	key, pd, qpn := m.key(t), pdOf(t, "pd"), qpnOf(t, "qpn")
	o := m.open[key]
	may := o != nil && o.window != nil && o.pd == pd && o.qpn == qpn
	if done := m.table.Invalidate(pd, qpn, key); done != may {
		t.Fatalf("invalidate: %v, the oracle says %v", done, may)
	}
	if may {
		delete(m.open, key)
	}
}

func (m *windowModel) release(t *rapid.T) {
	w, qpn := pick(t, "window", m.windows), qpnOf(t, "qpn")
	m.table.Release(w, qpn)
	for k, o := range m.open {
		if o.window == w && o.qpn == qpn {
			delete(m.open, k)
		}
	}
}

// access makes some accesses: they write what they may write, or read.
func (m *windowModel) access(t *rapid.T) {
	for range 20 {
		m.accessOnce(t)
	}
}

func (m *windowModel) accessOnce(t *rapid.T) {
	key := m.key(t)
	if rapid.IntRange(0, 9).Draw(t, "guess") == 0 {
		key ^= mr.Key(rapid.Uint32().Draw(t, "bits"))
	}
	need := mr.RemoteRead
	if rapid.Bool().Draw(t, "write") {
		need = mr.RemoteWrite
	}
	pd, qpn := pdOf(t, "pd"), qpnOf(t, "qpn")
	o := m.open[key]
	size := 64
	if o != nil {
		size = o.n
	}
	off := rapid.IntRange(-1, size).Draw(t, "off")
	n := rapid.IntRange(1, max(size-off, 0)+1).Draw(t, "n")
	va := uint64(off)
	if o != nil {
		va += o.base
	}
	span, fault := m.table.ResolveRemote(pd, qpn, key, va, uint32(n), need)
	may := o != nil && o.pd == pd && (o.window == nil || o.qpn == qpn) && o.rights&need != 0 && off >= 0 && off+n <= o.n
	if may != (fault == mr.NoFault) {
		t.Fatalf("access [%d, +%d): %v, the oracle says %v", off, n, fault, may)
	}
	if !may {
		return
	}
	want := o.region.want[canary+o.off+off:][:n]
	if !bytes.Equal(span.Bytes, want) {
		t.Fatalf("read % x, the oracle says % x", span.Bytes, want)
	}
	if need == mr.RemoteWrite {
		data := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
		mr.Place(span, data, true)
		copy(want, data)
	}
}

// compare looks at all memory, canaries and closed regions included.
func (m *windowModel) compare(t *rapid.T) {
	for i, r := range m.regions {
		if !bytes.Equal(r.memory, r.want) {
			t.Fatalf("memory of region %d changed where nobody may write", i)
		}
	}
}
