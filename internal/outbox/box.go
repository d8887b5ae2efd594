package outbox

import (
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	// Packets is how many packets a Box holds at most.
	Packets = 128
	// MaxPacket is the size of one packet at most, BTH to ICRC, in bytes.
	MaxPacket = link.MaxHeader + link.MaxPayload + link.MaxTail

	// GatherMin is the payload, in bytes, from which the kernel's cost of one more
	// piece is less than a copy. Payload in several pieces is always shorter, so it
	// is copied.
	GatherMin = 4096
)

// Packet is one reserved packet. Its extent in the box's arena holds the head, the
// payload (or a hole of its size, if the caller's memory is gathered) and the tail.
type Packet[To comparable] struct {
	To    To
	Size  int // bytes of BTH to ICRC
	Index int // place in the burst it may travel in

	off, head, tail int
	gathered        []byte
}

// Box holds packets, oldest first, in one arena without gaps: the tail of a packet
// and the head of the next adjoin. To is what packets of one burst have in common:
// where they go, and how. A Box belongs to a queue and is used under the shard's
// lock.
type Box[To comparable] struct {
	arena   []byte
	used    int
	packets [Packets]Packet[To]
	n       int
	burst   burst
}

// Init makes the box ready. A burst has so many bytes at most; 0 keeps packets
// single.
func (b *Box[To]) Init(burstBytes int) {
	b.arena = make([]byte, Packets*MaxPacket)
	b.burst.limit, b.burst.segments = burstBytes, MaxSegments
}

// Len is the number of packets in the box.
func (b *Box[To]) Len() int { return b.n }

// At is a packet by its age, 0 the oldest.
func (b *Box[To]) At(i int) *Packet[To] { return &b.packets[i] }

// Room is the number of packets of maximal size for which there is room.
func (b *Box[To]) Room() int {
	return min(Packets-b.n, (len(b.arena)-b.used)/MaxPacket)
}

// Reserve adds a packet and sets s, but for its ID: see [link.Queue].
func (b *Box[To]) Reserve(to To, head int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) *Packet[To] {
	payload := 0
	for _, p := range pay {
		payload += len(p)
	}
	tail := pad + wire.ICRCLen
	size := head + payload + tail
	extent := b.arena[b.used : b.used+size : b.used+size]

	pk := &b.packets[b.n]
	*pk = Packet[To]{To: to, Size: size, off: b.used, head: head, tail: tail}
	pk.Index = b.burst.add(size, b.n > 0 && b.packets[b.n-1].To == to)
	s.Head = extent[:head:head]
	s.Tail = extent[head+payload:]
	s.NBody = 0
	if payload > 0 {
		s.NBody = 1
		s.Body[0] = pk.place(extent[head:head+payload:head+payload], pay, mustCopy)
	}
	b.used += size
	b.n++
	return pk
}

// place decides between gathering and copying, and returns the bytes that go out.
func (pk *Packet[To]) place(hole []byte, pay [][]byte, mustCopy bool) []byte {
	if !mustCopy && len(pay) == 1 && len(hole) >= GatherMin {
		pk.gathered = pay[0]
		return pk.gathered
	}
	at := 0
	for _, b := range pay {
		at += copy(hole[at:], b)
	}
	return hole
}

// KeepFrom forgets the packets before index first, which are sent or dropped, and
// makes the rest independent of the caller's memory: gathered payload is copied into
// its hole, and all move to the front of the arena. No burst grows beyond it.
func (b *Box[To]) KeepFrom(first int) {
	used := 0
	for i := first; i < b.n; i++ {
		pk := b.packets[i]
		if pk.gathered != nil {
			copy(b.arena[pk.off+pk.head:], pk.gathered)
			pk.gathered = nil
		}
		copy(b.arena[used:], b.arena[pk.off:pk.off+pk.Size])
		pk.off = used
		used += pk.Size
		b.packets[i-first] = pk
	}
	clear(b.packets[b.n-first : b.n])
	b.used, b.n = used, b.n-first
	b.burst.close()
}
