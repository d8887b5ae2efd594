package xdp

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is one of a socket's four rings, in memory shared with the kernel. One side
// puts entries in, the other takes them out; each side has an index that it alone
// writes. We write ours once per batch, with the atomic store that makes the entries
// before it visible; and read the kernel's as seldom as possible, with the atomic
// load that makes its entries visible to us.
type ring[E any] struct {
	mapping  []byte
	producer *uint32
	consumer *uint32
	flags    *uint32
	entries  []E
	mask     uint32

	next uint32 // our index, up to which we have put or taken
}

// open maps the ring that lies at page of a socket.
func (r *ring[E]) open(fd int, page int64, o unix.XDPRingOffset, size int) (err error) {
	var e E
	length := int(o.Desc) + size*int(unsafe.Sizeof(e))
	r.mapping, err = unix.Mmap(fd, page, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("map a ring: %w", err)
	}
	base := unsafe.Pointer(unsafe.SliceData(r.mapping))
	r.producer = (*uint32)(unsafe.Add(base, o.Producer))
	r.consumer = (*uint32)(unsafe.Add(base, o.Consumer))
	r.flags = (*uint32)(unsafe.Add(base, o.Flags))
	r.entries = unsafe.Slice((*E)(unsafe.Add(base, o.Desc)), size)
	r.mask = uint32(size - 1)
	return nil
}

func (r *ring[E]) close() error {
	if r.mapping == nil {
		return nil
	}
	err := unix.Munmap(r.mapping)
	*r = ring[E]{}
	return err
}

// needsWakeup reports whether the kernel waits for a system call before it goes on.
func (r *ring[E]) needsWakeup() bool {
	return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0
}

// inlet is a ring that we put entries into. It never overflows: see the sizes.
type inlet[E any] struct {
	ring[E]
	published uint32 // up to which the kernel knows
}

func (r *inlet[E]) put(e E) {
	r.entries[r.next&r.mask] = e
	r.next++
}

// publish shows the kernel what was put since the last time.
func (r *inlet[E]) publish() {
	if r.published != r.next {
		r.published = r.next
		atomic.StoreUint32(r.producer, r.next)
	}
}

// left is the number of published entries that the kernel has not taken.
func (r *inlet[E]) left() uint32 { return r.published - atomic.LoadUint32(r.consumer) }

// outlet is a ring that we take entries from.
type outlet[E any] struct {
	ring[E]
	given uint32 // up to which the kernel knows
}

// ready is the number of entries that can be taken.
func (r *outlet[E]) ready() uint32 { return atomic.LoadUint32(r.producer) - r.next }

func (r *outlet[E]) take() E {
	e := r.entries[r.next&r.mask]
	r.next++
	return e
}

// giveBack tells the kernel that it may reuse the places of what was taken.
func (r *outlet[E]) giveBack() {
	if r.given != r.next {
		r.given = r.next
		atomic.StoreUint32(r.consumer, r.next)
	}
}
