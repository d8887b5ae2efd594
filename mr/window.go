package mr

import "sync/atomic"

// Window is a memory window of type 2B: it shows part of a region to the peer of
// one queue pair, from when that queue pair binds it until it is invalidated. Its
// methods are safe for concurrent use.
type Window struct {
	table *Table
	pd    PD
	slot  uint32
	bound atomic.Pointer[Binding] // written under the table's lock

	// Under the table's lock.
	closed bool
	recent [keyRest]uint8 // key bytes drawn last, a ring
	drawn  int            // how many ever
}

// keyRest is for how many further binds of a window a key byte rests: a late packet
// that names an old binding must not find a new one. Among the others it is random.
const keyRest = 128

// PD is the protection domain that the window belongs to.
func (w *Window) PD() PD { return w.pd }

// Index is what all keys of the window have in common, their upper 24 bits.
func (w *Window) Index() uint32 { return uint32(w.table.index(w.slot) >> 8) }

// Bound is what the window shows now, nil while it is not bound.
func (w *Window) Bound() *Binding { return w.bound.Load() }

// draw returns a key for the next bind: the window's index, and a key byte that
// rested. The caller holds the table's lock.
func (w *Window) draw() Key {
	index := w.table.index(w.slot)
	for {
		k := index | Key(w.table.rand()&keyByte)
		if k != 0 && !w.resting(uint8(k)) {
			w.rest(uint8(k))
			return k
		}
	}
}

func (w *Window) resting(b uint8) bool {
	for _, r := range w.recent[:min(w.drawn, keyRest)] {
		if r == b {
			return true
		}
	}
	return false
}

func (w *Window) rest(b uint8) {
	w.recent[w.drawn%keyRest] = b
	w.drawn++
}

// newest is the key byte drawn last, as a key.
func (w *Window) newest() Key {
	if w.drawn == 0 {
		return 0
	}
	return w.table.index(w.slot) | Key(w.recent[(w.drawn-1)%keyRest])
}

// Binding is what a bind work request asks for, and then what the window shows. It
// is good for one bind. Its methods are safe for concurrent use.
type Binding struct {
	view    // without base and buf until it is bound
	region  *Region
	addr, n uint64
	spent   bool // carried out, under the table's lock
}

// NewBinding asks for a window on the n bytes of r from address addr on, for peers
// that may do what access says: remote rights, and [ZeroBased] for addresses that
// are offsets in the window. Nothing is checked before [Table.Bind]. The key has
// the window's index; its low 8 bits, which are the consumer's to choose, are drawn
// at random and differ from those of the last 128.
func NewBinding(w *Window, r *Region, addr, n uint64, access Access) *Binding {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return &Binding{
		view:   view{key: w.draw(), pd: w.pd, access: access, window: w},
		region: r, addr: addr, n: n,
	}
}

// RKey is the key by which the peer names the window, once it is bound.
func (b *Binding) RKey() Key { return b.key }

// Base is the address of the window's first byte, for the peer, once it is bound.
func (b *Binding) Base() uint64 { return b.base }

// Len is the number of bytes that the window shows.
func (b *Binding) Len() uint64 { return b.n }

// Window is the window to be bound.
func (b *Binding) Window() *Window { return b.window }

// Region is the region that the window is to show, or shows.
func (b *Binding) Region() *Region { return b.region }

// windowRights are what a window may grant.
const windowRights = remoteRights | ZeroBased

// check applies the rules of binding (IBTA vol. 1, C10-72 to C10-75, o10-37.2.30
// and o10-37.2.40): nothing happens unless all hold. A window may grant
// what its region does not: remote access to the region is another matter. The
// caller holds the table's lock.
func (b *Binding) check(t *Table, pd PD) Fault {
	w, r := b.window, b.region
	switch {
	case b.spent, w.table != t, w.closed, r == nil, !t.has(r):
		return FaultGone
	case w.pd != pd, r.pd != pd:
		return FaultPD
	case w.bound.Load() != nil:
		return FaultBound
	case r.access&MWBind == 0, r.access&ZeroBased != 0, b.access&^windowRights != 0,
		b.access&(RemoteWrite|RemoteAtomic) != 0 && r.access&LocalWrite == 0:
		return FaultAccess
	case b.n == 0, !r.holds(b.addr, b.n):
		return FaultRange
	case b.access&RemoteAtomic != 0 && (Address(b.memory())-b.first())%AtomicSize != 0:
		return FaultMisaligned
	}
	return NoFault
}

// memory is what the window shows, once its range was checked.
func (b *Binding) memory() []byte {
	off := b.addr - b.region.base
	return b.region.buf[off : off+b.n : off+b.n]
}

// first is the address of the window's first byte.
func (b *Binding) first() uint64 {
	if b.access&ZeroBased != 0 {
		return 0
	}
	return b.addr
}
