package raw

import (
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	// burstBytes is the UDP payload of a super-frame at most: with its headers it has
	// to be less than the device's gso_max_size of 64 KiB, or the kernel cuts it
	// before it leaves.
	burstBytes = 1<<16 - 1 - wire.MaxHeadersLen

	headersLen = vnetLen + wire.MaxHeadersLen
)

// burst turns consecutive packets into the messages of one sendmmsg call: each is a
// packet or a super-frame.
type burst struct {
	msgs    [mmsg.MaxMessages]mmsg.Message
	packets [mmsg.MaxMessages]int // in each message
	headers [mmsg.MaxMessages][headersLen]byte
	iovs    []unix.Iovec // of all messages in a row
	used    int          // of iovs
	most    int          // packets in a message
}

func (b *burst) init() {
	b.most = outbox.MaxSegments
	// Each message has its headers, and each packet pieces of its own at most.
	b.iovs = make([]unix.Iovec, mmsg.MaxMessages+outbox.MaxPieces(outbox.Packets)+mmsg.MaxMessages)
}

// build describes packets from index first on, as many as one call takes.
func (b *burst) build(box *outbox.Box[*wire.Template], first int, super bool, gsoType uint8) []mmsg.Message {
	n, bytes := 0, 0
	b.used = 0
	for n < mmsg.MaxMessages && first < box.Len() {
		packets, size := 1, box.At(first).Size
		if super {
			packets, size = box.Burst(first)
		}
		if packets > b.most { // all of these are of one size
			packets, size = b.most, b.most*box.At(first).Size
		}
		if bytes += size; bytes > mmsg.MaxBytes {
			break
		}
		b.message(n, box, first, packets, size, gsoType)
		first += packets
		n++
	}
	return b.msgs[:n]
}

// message makes one message of packets from index first on, of size bytes in all.
func (b *burst) message(n int, box *outbox.Box[*wire.Template], first, packets, size int, gsoType uint8) {
	pk := box.At(first)
	segment := 0
	if packets > 1 {
		segment = pk.Size
	}
	iovs := b.iovs[b.used:]
	headers := b.headers[n][:]
	mmsg.SetPiece(&iovs[0], headers[:putHeaders(headers, pk.To, uint16(pk.Index), size, segment, gsoType)])
	pieces := 1 + box.Pieces(iovs[1:], first, packets)
	b.used += pieces
	b.packets[n] = packets
	b.msgs[n].Iov = &iovs[0]
	b.msgs[n].SetIovlen(pieces)
}

// sent is the number of packets in the first n messages.
func (b *burst) sent(n int) (packets int) {
	for _, p := range b.packets[:n] {
		packets += p
	}
	return packets
}

// forget drops the references to the caller's memory.
func (b *burst) forget() { clear(b.iovs[:b.used]) }
