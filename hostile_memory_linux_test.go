package roce_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/transport"
)

// The memory of a device under attack, against an oracle: regions and windows with any
// rights come and go, and the enemy tries every operation with right, near and wild keys,
// addresses and lengths. What is allowed happens to the byte; what is not is refused with
// the NAK that the oracle says. No other byte ever changes, and none is ever told.
//
// Each region lies in a cell of its own between two pages without any access: a byte read
// or written beyond them ends the process. Within the cell, what is not the region's
// holds canaries.

const (
	cells     = 6
	cellPages = 2
	canary    = 0xc5 // outside of regions
	secret    = 0xee // what the application puts into memory that it has taken back
)

// arena is the memory of all cells, and what the oracle says is in it.
type arena struct {
	cell, want [cells][]byte
	used       [cells]bool
}

func newArena(t *testing.T) *arena {
	t.Helper()
	page := os.Getpagesize()
	size := (cellPages + 1) * page
	all, err := unix.Mmap(-1, 0, cells*size+page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(all)) })
	a := new(arena)
	for i := range a.cell {
		a.cell[i] = all[i*size+page : (i+1)*size]
		require.NoError(t, unix.Mprotect(a.cell[i], unix.PROT_READ|unix.PROT_WRITE))
		a.want[i] = make([]byte, len(a.cell[i]))
	}
	return a
}

// reset fills everything with canaries.
func (a *arena) reset() {
	for i := range a.cell {
		a.fill(i, 0, len(a.cell[i]), func() byte { return canary })
		a.used[i] = false
	}
}

func (a *arena) fill(cell, off, n int, with func() byte) {
	for i := off; i < off+n; i++ {
		a.cell[cell][i] = with()
		a.want[cell][i] = a.cell[cell][i]
	}
}

// view is what a key opens, as the oracle sees it: a region or a window.
type view struct {
	key    uint32
	base   uint64
	cell   int
	off, n int // in the cell
	access roce.Access
	own    bool // of the victim's PD
	mr     *roce.MR
	mw     *roce.MW // nil: a region
	closed bool
}

// holds is the rule: all of [va, va+n) is in the view. n > 0.
func (v *view) holds(va, n uint64) bool {
	return va >= v.base && va-v.base < uint64(v.n) && n <= uint64(v.n)-(va-v.base)
}

// expected are the bytes at an address of the view, in the oracle's memory.
func (m *memoryModel) expected(v *view, va uint64, n int) []byte {
	at := v.off + int(va-v.base)
	return m.arena.want[v.cell][at : at+n]
}

type memoryModel struct {
	*siege
	rt    *rapid.T
	arena *arena
	other *roce.PD
	rand  *rand.Rand
	views []*view
	psn   bth.PSN // the enemy's next
}

// plain is any byte that is neither canary nor secret.
func (m *memoryModel) plain() byte {
	for {
		if b := byte(m.rand.Uint32()); b != canary && b != secret {
			return b
		}
	}
}

// live are the views whose keys open something.
func (m *memoryModel) live(which func(v *view) bool) (list []*view) {
	for _, v := range m.views {
		if !v.closed && which(v) {
			list = append(list, v)
		}
	}
	return list
}

func draw(t *rapid.T, list []*view) *view {
	if len(list) == 0 {
		t.Skip("there is none")
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(t, "which")]
}

// subset draws some of the rights.
func subset(t *rapid.T, rights ...roce.Access) (a roce.Access) {
	for _, r := range rights {
		if rapid.Bool().Draw(t, r.String()) {
			a |= r
		}
	}
	return a
}

// register makes a region of any rights at any place of a free cell.
func (m *memoryModel) register(t *rapid.T) {
	cell := slices.Index(m.arena.used[:], false)
	if cell < 0 {
		t.Skip("no cell is free")
	}
	size := len(m.arena.cell[cell])
	n := rapid.OneOf(rapid.IntRange(1, 16), rapid.IntRange(1, size)).Draw(t, "length")
	off := rapid.SampledFrom([]int{0, size - n, (size - n) / 2, (size - n) &^ 7}).Draw(t, "place")
	access := subset(t, roce.AccessLocalWrite, roce.AccessRemoteRead, roce.AccessRemoteWrite, roce.AccessRemoteAtomic, roce.AccessMWBind, roce.AccessPolled)
	if access&(roce.AccessRemoteWrite|roce.AccessRemoteAtomic) != 0 {
		access |= roce.AccessLocalWrite
	}
	var opts []roce.RegOption
	switch rapid.SampledFrom([]string{"default", "end", "any", "zero"}).Draw(t, "address") {
	case "end":
		opts = append(opts, roce.WithIOVA(-uint64(n)))
	case "any":
		opts = append(opts, roce.WithIOVA(uint64(off&7)+8*uint64(rapid.Uint32().Draw(t, "iova"))))
	case "zero":
		access |= roce.AccessZeroBased
	}
	pd := m.victim.pd
	if rapid.IntRange(0, 4).Draw(t, "PD") == 4 {
		pd = m.other
	}
	buf := m.arena.cell[cell][off : off+n : off+n]
	region, err := pd.RegMR(buf, access, opts...)
	if err != nil {
		return // atomics could not be aligned
	}
	m.arena.used[cell] = true
	m.arena.fill(cell, off, n, m.plain)
	sge := region.SGE(0, n)
	m.views = append(m.views, &view{
		key: uint32(sge.LKey), base: sge.Addr, cell: cell, off: off, n: n, access: access, own: pd == m.victim.pd, mr: region,
	})
}

// bind shows a part of a region by a window.
func (m *memoryModel) bind(t *rapid.T) {
	r := draw(t, m.live(func(v *view) bool {
		return v.mw == nil && v.own && v.access&roce.AccessMWBind != 0 && v.access&roce.AccessZeroBased == 0
	}))
	off := rapid.IntRange(0, r.n-1).Draw(t, "offset")
	n := rapid.IntRange(1, r.n-off).Draw(t, "length")
	access := subset(t, roce.AccessRemoteRead, roce.AccessZeroBased)
	if r.access&roce.AccessLocalWrite != 0 {
		access |= subset(t, roce.AccessRemoteWrite, roce.AccessRemoteAtomic)
	}
	w, err := m.victim.pd.AllocMW()
	require.NoError(m.rt, err)
	wr := w.Bind(r.mr, off, n, access)
	wr.Flags = roce.Signaled
	m.victim.send(wr)
	m.settle()
	if w.RKey() == 0 { // atomics could not be aligned
		require.NotZero(m.rt, access&roce.AccessRemoteAtomic)
		m.again()
		require.NoError(m.rt, w.Close())
		return
	}
	m.views = append(m.views, &view{
		key: uint32(w.RKey()), base: w.Remote().Addr, cell: r.cell, off: r.off + off, n: n, access: access, own: true, mr: r.mr, mw: w,
	})
}

// again connects anew. Windows of the old connection stay with the queue pair.
func (m *memoryModel) again() {
	for _, v := range m.live(func(v *view) bool { return v.mw != nil }) {
		require.Equal(m.rt, v.key, uint32(v.mw.RKey()), "the window is bound still")
	}
	var wcs [64]roce.WC
	for m.victim.cq.Poll(wcs[:]) > 0 {
	}
	m.revive()
	m.psn = enemyPSN
}

// windowOn reports whether a window shows something of the region.
func (m *memoryModel) windowOn(r *view) bool {
	return len(m.live(func(v *view) bool { return v.mw != nil && v.mr == r.mr })) > 0
}

// close takes a view away. From then on its memory is the application's alone.
func (m *memoryModel) close(t *rapid.T) {
	m.closeView(draw(t, m.live(func(*view) bool { return true })))
}

func (m *memoryModel) closeView(v *view) {
	if v.mw != nil {
		require.NoError(m.rt, v.mw.Close())
		v.closed = true
		return
	}
	if m.windowOn(v) {
		require.Error(m.rt, v.mr.Close())
		return
	}
	require.NoError(m.rt, v.mr.Close())
	v.closed = true
	m.arena.fill(v.cell, v.off, v.n, func() byte { return secret })
	m.arena.used[v.cell] = false
}

// change is the application at work in memory that is open.
func (m *memoryModel) change(t *rapid.T) {
	v := draw(t, m.live(func(*view) bool { return true }))
	m.arena.fill(v.cell, v.off, v.n, m.plain)
}

// message sends the enemy's message into a receive whose memory may be anything.
func (m *memoryModel) message(t *rapid.T) {
	v := draw(t, m.live(func(v *view) bool { return v.mw == nil }))
	room := uint32(min(near(v.n).Draw(t, "room"), 1<<31))
	addr := v.base + rapid.SampledFrom([]uint64{0, 1, ^uint64(0), uint64(v.n) - 1}).Draw(t, "address")
	m.again() // so that it is the oldest receive
	_, err := m.victim.qp.PostRecv(roce.RecvWR{SGE: roce.SGE{Addr: addr, Len: room, LKey: mr.Key(v.key)}})
	require.NoError(m.rt, err)
	if rapid.Bool().Draw(t, "close it") {
		m.closeView(v)
	}
	n := rapid.SampledFrom([]int{0, 1, 5, siegeMTU}).Draw(t, "length")
	data := make([]byte, n)
	for i := range data {
		data[i] = m.plain()
	}
	var want bth.Syndrome
	switch {
	case uint32(n) > room:
		want = bth.NAKInvalidRequest
	case n == 0:
	case v.closed, !v.own, v.access&roce.AccessLocalWrite == 0, !v.holds(addr, uint64(n)):
		want = bth.NAKRemoteOperation
	}
	what := fmt.Sprintf("SEND of %d bytes into %d at %#x of %+v", n, room, addr, v)
	m.request(bth.RCSendOnly, bthtest.Payload(data))
	m.settle()
	if want != 0 {
		m.refused(want, m.psn, what)
	} else if n > 0 {
		copy(m.expected(v, addr, n), data)
	}
	m.deafen()
	m.same(what)
	m.again()
}

// closeInside takes a region or window away in the middle of a READ or WRITE of all of it.
func (m *memoryModel) closeInside(t *rapid.T) {
	right := rapid.SampledFrom([]roce.Access{roce.AccessRemoteRead, roce.AccessRemoteWrite}).Draw(t, "right")
	v := draw(t, m.live(func(v *view) bool {
		return v.own && v.access&right != 0 && v.n > siegeMTU && !(v.mw == nil && m.windowOn(v))
	}))
	before := bytes.Clone(m.expected(v, v.base, v.n))
	if right == roce.AccessRemoteRead {
		m.request(bth.RCReadRequest, bthtest.RETH(v.base, v.key, uint32(v.n)))
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			_, err := m.world.Step()
			require.NoError(m.rt, err)
		}
	} else {
		data := bytes.Repeat([]byte{1}, siegeMTU)
		m.request(bth.RCWriteFirst, bthtest.RETH(v.base, v.key, uint32(v.n)), bthtest.Payload(data))
		m.settle()
		copy(m.expected(v, v.base, siegeMTU), data)
	}
	m.closeView(v)
	if v.mw != nil { // the region stays; the application writes to it
		m.arena.fill(v.cell, v.off, v.n, func() byte { return secret })
	}
	if right == roce.AccessRemoteWrite {
		m.psn = m.psn.Add(1)
		m.request(writeOpcode(false, v.n-siegeMTU <= siegeMTU, false), bthtest.Payload(bytes.Repeat([]byte{2}, min(v.n-siegeMTU, siegeMTU))))
	}
	m.settle()
	var told []byte
	for _, p := range m.heard() {
		told = append(append(told, p.Payload[0]...), p.Payload[1]...)
	}
	require.True(m.rt, bytes.HasPrefix(before, told), "only what was there before Close is told")
	if right == roce.AccessRemoteWrite {
		require.Equal(m.rt, roce.StateErr, m.victim.qp.State())
	}
	m.same("closing in the middle")
	m.again()
	if v.mw != nil {
		m.arena.fill(v.cell, v.off, v.n, m.plain)
	}
}

// Memory is touched only as the rights of live regions and windows say.
func TestNothingBeyondTheRightsIsTouched(t *testing.T) {
	a := newArena(t)
	tried := map[transport.Rule]int{}
	rapid.Check(t, func(rt *rapid.T) {
		a.reset()
		m := &memoryModel{siege: newSiege(t), rt: rt, arena: a, psn: enemyPSN}
		m.rand = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "bytes"), 0))
		var err error
		m.other, err = m.victim.dev.AllocPD()
		require.NoError(t, err)
		rt.Repeat(map[string]func(*rapid.T){
			"register": m.register, "bind": m.bind, "close": m.close, "change": m.change,
			"message": m.message, "close inside": m.closeInside,
			"access": m.try, "access again": m.try, "and again": m.try, "and once more": m.try,
		})
		m.business()
		m.unconcerned()
		for rule, n := range m.tally.rules {
			tried[transport.Rule(rule)] += n
		}
		require.NoError(t, m.victim.dev.Close()) // before the next one uses the memory
	})
	for rule, n := range tried {
		if n > 0 {
			t.Logf("%6d %s", n, rule)
		}
	}
	for _, rule := range []transport.Rule{
		transport.RuleInOrder, transport.RuleKey, transport.RulePD, transport.RuleAccess, transport.RuleRange,
		transport.RuleTooLong, transport.RuleLocalMemory,
	} {
		require.NotZero(t, tried[rule], "%s: never", rule)
	}
}
