package mr

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// AtomicSize is the size in bytes of what atomics work on, and its alignment.
const AtomicSize = 8

// word is the 8-byte word at the start of b, whose address is a multiple of 8.
func word(b []byte) *uint64 {
	return (*uint64)(unsafe.Pointer((*[AtomicSize]byte)(b)))
}

// FetchAdd adds to the word at the start of b, in host byte order, and returns
// what it held before. It is atomic also towards the application's own
// [sync/atomic] operations on that memory. b's address must be a multiple of 8;
// registration and the responder's check of the remote address see to that.
func FetchAdd(b []byte, add uint64) uint64 { return atomic.AddUint64(word(b), add) - add }

// CompareSwap replaces the word at the start of b by swap if it equals compare,
// and returns what it held before. See [FetchAdd].
func CompareSwap(b []byte, compare, swap uint64) uint64 {
	w := word(b)
	for {
		old := atomic.LoadUint64(w)
		if old != compare || atomic.CompareAndSwapUint64(w, compare, swap) {
			return old
		}
	}
}

// LoadUint64 reads the word at the start of b, in host byte order, in one piece: a
// race-free peek at memory that peers write. If the region is [Polled] and the
// word is the last aligned one of a message, everything else of that message is
// there when the word is. b's address must be a multiple of 8.
func LoadUint64(b []byte) uint64 { return atomic.LoadUint64(word(b)) }

// StoreUint64 writes the word at the start of b, in host byte order, in one piece.
// b's address must be a multiple of 8.
func StoreUint64(b []byte, v uint64) { atomic.StoreUint64(word(b), v) }

// Place copies src to dst, which is at least as long. last says that src ends its
// message: then, in a [Polled] region, the last aligned word among the bytes is
// stored atomically after all others. Nothing is promised for data that holds no
// aligned word.
func Place(dst Span, src []byte, last bool) {
	if !dst.Polled || !last {
		copy(dst.Bytes, src)
		return
	}
	at, ok := lastWord(dst.Bytes[:len(src)])
	if !ok {
		copy(dst.Bytes, src)
		return
	}
	copy(dst.Bytes[:at], src)
	copy(dst.Bytes[at+AtomicSize:], src[at+AtomicSize:])
	StoreUint64(dst.Bytes[at:], binary.NativeEndian.Uint64(src[at:]))
}

// lastWord is the offset of the last aligned word that lies wholly in b.
func lastWord(b []byte) (at int, ok bool) {
	if len(b) < AtomicSize {
		return 0, false
	}
	at = len(b) - int((Address(b)+uint64(len(b)))%AtomicSize) - AtomicSize
	return at, at >= 0
}
