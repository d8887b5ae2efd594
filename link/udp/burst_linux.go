package udp

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/internal/outbox"
)

// box holds what was reserved and not yet taken by the kernel.
type box = outbox.Box[destination]

// burst turns consecutive packets into the messages of one sendmmsg call: a
// super-frame each, or a single packet.
type burst struct {
	msgs    [mmsg.MaxMessages]mmsg.Message
	control [mmsg.MaxMessages]sendControl
	packets [mmsg.MaxMessages]int // in each message

	// Each message has at most two pieces for each of its packets, and one.
	pieces [2*outbox.Packets + mmsg.MaxMessages]unix.Iovec
	used   int
}

func (b *burst) init(v6 bool) {
	for i := range b.control {
		b.control[i].init(v6)
	}
}

// build describes packets from index first on, as many super-frames as one call
// takes, and at least one, and returns the messages.
func (b *burst) build(from *box, first int) []mmsg.Message {
	n, total := 0, 0
	for n < mmsg.MaxMessages && first < from.Len() {
		packets, bytes := from.Burst(first)
		if total += bytes; total > mmsg.MaxBytes && n > 0 {
			break
		}
		b.message(n, from, first, packets)
		first += packets
		n++
	}
	return b.msgs[:n]
}

// message makes message i of some packets from index first on.
func (b *burst) message(i int, from *box, first, packets int) {
	pk, m := from.At(first), &b.msgs[i]
	m.Name = (*byte)(unsafe.Pointer(&pk.To.name))
	m.Namelen = pk.To.nameLen
	seg := 0
	if packets > 1 {
		seg = pk.Size
	}
	b.control[i].attach(m, pk.To.class, pk.To.hops, seg)
	b.packets[i] = packets

	pieces := b.pieces[b.used:]
	n := from.Pieces(pieces, first, packets)
	m.Iov = &pieces[0]
	m.SetIovlen(n)
	b.used += n
}

// drop forgets the caller's memory.
func (b *burst) drop() {
	clear(b.pieces[:b.used])
	b.used = 0
}
