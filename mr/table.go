package mr

import (
	"sync"
	"sync/atomic"
)

// MaxRegions is the most regions and windows that a [Table] can hold at once.
const MaxRegions = 1 << indexBits

const (
	keyByte   = 0xff // the part of a key that is no index
	indexBits = 24
	pageBits  = 12
	pageSize  = 1 << pageBits
)

// quarantine is how many other keys are taken out of use before a slot is used
// again: a late packet that names a dead region must not find a new one.
const quarantine = 1024

// Table maps keys to regions and windows. [Table.Resolve] looks up without a lock or a map, so
// any number of shards may resolve while others register.
//
// Slots are used in order, but the index in a key is a keyed permutation of the
// slot, and the key byte is random: a key tells nothing of the order of registration.
// That is no cryptography: who sees many keys might work the permutation out.
type Table struct {
	permutation permutation
	pages       [1 << (indexBits - pageBits)]atomic.Pointer[page]

	mu    sync.Mutex // registration
	rand  func() uint64
	fresh uint32     // slots never used
	free  []freeSlot // in the order of deregistration
}

type page [pageSize]atomic.Pointer[view]

type freeSlot struct {
	slot uint32
	last Key // the key that the slot had
}

// NewTable returns an empty table. rand is its source of unpredictable numbers;
// calls of it are serialised.
func NewTable(rand func() uint64) *Table {
	return &Table{rand: rand, permutation: newPermutation(rand)}
}

// Register makes buf accessible to pd as the addresses iova, iova+1, … and returns
// the region. The table refers to buf until [Table.Deregister]. The error is a
// *[RegisterError], or [ErrTableFull].
func (t *Table) Register(pd PD, buf []byte, iova uint64, access Access) (*Region, error) {
	if err := check(buf, iova, access); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, last, ok := t.takeSlot()
	if !ok {
		return nil, ErrTableFull
	}
	r := &Region{view: view{key: t.newKey(slot, last), pd: pd, access: access, base: iova, buf: buf}, slot: slot}
	t.makePage(slot)
	t.slot(slot).Store(&r.view)
	return r, nil
}

// Deregister takes the region out of the table. It returns false, and nothing has
// happened, if windows are bound to it. Look-ups that began earlier may still use the
// region's memory: the caller waits for the engine turns under way before it gives
// the memory up. Twice is harmless.
func (t *Table) Deregister(r *Region) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.windows > 0 {
		return false
	}
	if t.has(r) {
		t.slot(r.slot).Store(nil)
		t.free = append(t.free, freeSlot{r.slot, r.key})
	}
	return true
}

// has reports whether the region is in the table. The caller holds t.mu.
func (t *Table) has(r *Region) bool {
	return t.pages[r.slot>>pageBits].Load() != nil && t.slot(r.slot).Load() == &r.view
}

// takeSlot prefers slots never used to recently freed ones.
func (t *Table) takeSlot() (slot uint32, last Key, ok bool) {
	exhausted := t.fresh == MaxRegions
	if len(t.free) > quarantine || exhausted && len(t.free) > 0 {
		f := t.free[0]
		t.free = t.free[1:]
		return f.slot, f.last, true
	}
	if exhausted {
		return 0, 0, false
	}
	t.fresh++
	return t.fresh - 1, 0, true
}

// newKey draws a key byte for a slot. It differs from that of the slot's last key,
// and the whole key is not 0.
func (t *Table) newKey(slot uint32, last Key) Key {
	index := t.index(slot)
	for {
		if k := index | Key(t.rand()&keyByte); k != last && k != 0 {
			return k
		}
	}
}

// index is the part of a slot's keys that stays.
func (t *Table) index(slot uint32) Key { return Key(t.permutation.forward(slot)) << 8 }

// makePage makes the page of a slot on first use. The caller holds t.mu.
func (t *Table) makePage(slot uint32) {
	if p := &t.pages[slot>>pageBits]; p.Load() == nil {
		p.Store(new(page))
	}
}

// slot is the place of a slot whose page was made.
func (t *Table) slot(slot uint32) *atomic.Pointer[view] {
	return &t.pages[slot>>pageBits].Load()[slot%pageSize]
}

// lookup returns what has this key, or nil.
func (t *Table) lookup(key Key) *view {
	slot := t.permutation.backward(uint32(key >> 8))
	p := t.pages[slot>>pageBits].Load()
	if p == nil {
		return nil
	}
	v := p[slot%pageSize].Load()
	if v == nil || v.key != key {
		return nil
	}
	return v
}

// Resolve implements [Resolver]. The checks come in the order of the [Fault]
// values. Any goroutine may call it; it does not allocate.
func (t *Table) Resolve(pd PD, key Key, va uint64, n uint32, need Access) (Span, Fault) {
	if n == 0 {
		return Span{}, NoFault
	}
	v := t.lookup(key)
	if v == nil || v.window != nil {
		return Span{}, FaultKey
	}
	return v.open(pd, va, uint64(n), need)
}

// ResolveRemote implements [Resolver] as [Table.Resolve] does.
func (t *Table) ResolveRemote(pd PD, qpn uint32, key Key, va uint64, n uint32, need Access) (Span, Fault) {
	if n == 0 {
		return Span{}, NoFault
	}
	v := t.lookup(key)
	switch {
	case v == nil:
		return Span{}, FaultKey
	case v.pd != pd:
		return Span{}, FaultPD
	case v.window != nil && v.qpn != qpn:
		return Span{}, FaultQP
	}
	return v.open(pd, va, uint64(n), need)
}
