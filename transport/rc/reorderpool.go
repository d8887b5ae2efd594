package rc

import (
	"math/bits"

	"github.com/rocinante-rdma/roce/bth"
)

// ReorderPool is memory for requests that came before their turn. The queue pairs of
// a shard share it, under the shard's lock. It takes none before that is needed, and
// keeps what it took until packets of other sizes need it.
type ReorderPool struct {
	limit int // bytes
	used  int // bytes of the packets that are held
	made  int // bytes of those and of the free ones
	free  [len(reorderSizes)]*heldPacket
}

// reorderSizes are the bytes of payload that there is memory for: the path MTUs.
var reorderSizes = [...]int{256, 512, 1024, 2048, 4096}

// heldHeader is what a held packet takes besides its payload, in bytes.
const heldHeader = 256

// heldPacket is a request with a copy of its payload.
type heldPacket struct {
	bth.Packet
	class   uint8 // of its payload, in reorderSizes
	payload []byte
	next    *heldPacket // of the same queue pair by PSN, or of the free ones
}

func (h *heldPacket) size() int { return heldHeader + reorderSizes[h.class] }

// NewReorderPool returns a pool of at most limit bytes.
func NewReorderPool(limit int) *ReorderPool { return &ReorderPool{limit: limit} }

// Used is the number of bytes that held packets take.
func (r *ReorderPool) Used() int { return r.used }

// take returns memory for n bytes of payload, or nil if there is none for a queue pair
// that holds mine bytes: none may have more than it leaves to the others.
func (r *ReorderPool) take(n, mine int) *heldPacket {
	class := sizeClass(n)
	size := heldHeader + reorderSizes[class]
	if mine+size > r.limit-r.used-size {
		return nil
	}
	r.used += size
	if h := r.free[class]; h != nil {
		r.free[class], h.next = h.next, nil
		return h
	}
	if r.made+size > r.limit {
		r.shed()
	}
	r.made += size
	return &heldPacket{class: class, payload: make([]byte, reorderSizes[class])}
}

// shed gives up what is free: it is of other sizes than what is needed now.
func (r *ReorderPool) shed() {
	r.free = [len(reorderSizes)]*heldPacket{}
	r.made = r.used
}

// give takes a packet back.
func (r *ReorderPool) give(h *heldPacket) {
	r.used -= h.size()
	h.next, r.free[h.class] = r.free[h.class], h
}

// sizeClass is the smallest class that takes n bytes, which are not more than the
// largest path MTU.
func sizeClass(n int) uint8 {
	return uint8(bits.Len(uint(max(n, 1)-1) / uint(reorderSizes[0])))
}
