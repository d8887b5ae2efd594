package udp

import (
	"cmp"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	maxPacket = link.MaxHeader + link.MaxPayload + link.MaxTail // bytes of one packet at most
	txPackets = 128                                             // packets not yet taken by the kernel at most

	// gatherMin is the payload from which the kernel's cost of one more piece is
	// less than a copy. Payload in several pieces is always shorter, so it is copied.
	gatherMin = 4096
)

// txPacket is one reserved packet. Its extent in the arena holds the head, the
// payload (or a hole of its size, if the caller's memory is gathered) and the tail.
type txPacket struct {
	off, size   int
	head, tail  int
	gathered    []byte
	to          *peer
	class, hops uint8
}

// transmitter holds the packets that the kernel has not taken, oldest first, in one
// arena without gaps: the tail of a packet and the head of the next adjoin.
type transmitter struct {
	arena   []byte
	used    int
	packets [txPackets]txPacket
	n       int
}

func newTransmitter() transmitter {
	return transmitter{arena: make([]byte, txPackets*maxPacket)}
}

func (t *transmitter) room() int {
	return min(txPackets-t.n, (len(t.arena)-t.used)/maxPacket)
}

func (t *transmitter) reserve(p *wire.Path, head int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) {
	payload := 0
	for _, b := range pay {
		payload += len(b)
	}
	tail := pad + wire.ICRCLen
	size := head + payload + tail
	extent := t.arena[t.used : t.used+size : t.used+size]

	pk := &t.packets[t.n]
	*pk = txPacket{
		off: t.used, size: size, head: head, tail: tail,
		to: p.Link.(*peer), class: p.TrafficClass, hops: cmp.Or(p.HopLimit, wire.DefaultHopLimit),
	}
	s.Head = extent[:head:head]
	s.Tail = extent[head+payload:]
	s.ID = 0
	s.NBody = 0
	if payload > 0 {
		s.NBody = 1
		s.Body[0] = t.place(pk, extent[head:head+payload:head+payload], pay, mustCopy)
	}
	t.used += size
	t.n++
}

// place decides between gathering and copying, and returns the bytes that go out.
func (t *transmitter) place(pk *txPacket, hole []byte, pay [][]byte, mustCopy bool) []byte {
	if !mustCopy && len(pay) == 1 && len(hole) >= gatherMin {
		pk.gathered = pay[0]
		return pk.gathered
	}
	at := 0
	for _, b := range pay {
		at += copy(hole[at:], b)
	}
	return hole
}

// keepFrom forgets the packets before index first, which are sent or dropped, and
// makes the rest independent of the caller's memory: gathered payload is copied
// into its hole, and all move to the front of the arena.
func (t *transmitter) keepFrom(first int) {
	used := 0
	for i := first; i < t.n; i++ {
		pk := t.packets[i]
		if pk.gathered != nil {
			copy(t.arena[pk.off+pk.head:], pk.gathered)
			pk.gathered = nil
		}
		copy(t.arena[used:], t.arena[pk.off:pk.off+pk.size])
		pk.off = used
		used += pk.size
		t.packets[i-first] = pk
	}
	clear(t.packets[t.n-first : t.n])
	t.used, t.n = used, t.n-first
}
