package mr

import (
	"sync"
	"sync/atomic"
)

// MaxRegions is the most regions that a [Table] can hold at once.
const MaxRegions = 1 << indexBits

const (
	indexBits = 24
	pageBits  = 12
	pageSize  = 1 << pageBits
)

// quarantine is how many other keys are taken out of use before a slot is used
// again: a late packet that names a dead region must not find a new one.
const quarantine = 1024

// Table maps keys to regions. [Table.Resolve] looks up without a lock or a map, so
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

type page [pageSize]atomic.Pointer[Region]

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
	r := &Region{key: t.newKey(slot, last), pd: pd, access: access, base: iova, buf: buf, slot: slot}
	t.pageOf(slot)[slot%pageSize].Store(r)
	return r, nil
}

// Deregister takes the region out of the table and reports whether it was there.
// Look-ups that began earlier may still use the region's memory: the caller waits
// for the engine turns under way before it gives the memory up.
func (t *Table) Deregister(r *Region) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.pageOf(r.slot)[r.slot%pageSize].CompareAndSwap(r, nil) {
		return false
	}
	t.free = append(t.free, freeSlot{r.slot, r.key})
	return true
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
	index := Key(t.permutation.forward(slot)) << 8
	for {
		if k := index | Key(t.rand()&0xff); k != last && k != 0 {
			return k
		}
	}
}

// pageOf returns the page of a slot, made on first use. The caller holds t.mu.
func (t *Table) pageOf(slot uint32) *page {
	p := &t.pages[slot>>pageBits]
	if p.Load() == nil {
		p.Store(new(page))
	}
	return p.Load()
}

// lookup returns the region with this key, or nil.
func (t *Table) lookup(key Key) *Region {
	slot := t.permutation.backward(uint32(key >> 8))
	p := t.pages[slot>>pageBits].Load()
	if p == nil {
		return nil
	}
	r := p[slot%pageSize].Load()
	if r == nil || r.key != key {
		return nil
	}
	return r
}

// Resolve implements [Resolver]. The checks come in the order of the [Fault]
// values. Any goroutine may call it; it does not allocate.
func (t *Table) Resolve(pd PD, key Key, va uint64, n uint32, need Access) (Span, Fault) {
	if n == 0 {
		return Span{}, NoFault
	}
	r := t.lookup(key)
	switch {
	case r == nil:
		return Span{}, FaultKey
	case r.pd != pd:
		return Span{}, FaultPD
	case r.access&need != need:
		return Span{}, FaultAccess
	case !r.holds(va, uint64(n)):
		return Span{}, FaultRange
	}
	off := va - r.base
	return Span{Bytes: r.buf[off : off+uint64(n) : off+uint64(n)], Polled: r.access&Polled != 0}, NoFault
}
