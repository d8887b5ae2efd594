package udp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits of one call: what it copies, and how long it may keep the processor from
// the Go scheduler.
const (
	maxCallBytes = 64 << 10
	maxCallMsgs  = 32
)

// burst turns consecutive packets into the messages of one sendmmsg call.
type burst struct {
	msgs [maxCallMsgs]mmsghdr
	iovs [maxCallMsgs][3]unix.Iovec // head, payload, tail; or all in one

	control [maxCallMsgs]sendControl
}

func (b *burst) init(v6 bool) {
	for i := range b.msgs {
		b.msgs[i].Iov = &b.iovs[i][0]
		b.control[i].init(v6)
	}
}

// build describes packets from index first on, as many as one call takes, and
// returns the messages: one packet each.
func (b *burst) build(t *transmitter, first int) []mmsghdr {
	n, bytes := 0, 0
	for n < maxCallMsgs && first+n < t.n {
		pk := &t.packets[first+n]
		if bytes += pk.size; bytes > maxCallBytes {
			break
		}
		m := &b.msgs[n]
		m.Name = (*byte)(unsafe.Pointer(&pk.to.name))
		m.Namelen = pk.to.nameLen
		m.SetIovlen(describe(&b.iovs[n], t.arena, pk))
		b.control[n].attach(m, pk.class, pk.hops)
		n++
	}
	return b.msgs[:n]
}

// drop forgets the caller's memory.
func (b *burst) drop(n int) {
	for i := range b.iovs[:n] {
		b.iovs[i][1].Base = nil
	}
}

// describe sets the pieces of a packet and returns their number.
func describe(iov *[3]unix.Iovec, arena []byte, pk *txPacket) int {
	if pk.gathered == nil {
		setPiece(&iov[0], arena[pk.off:pk.off+pk.size])
		return 1
	}
	setPiece(&iov[0], arena[pk.off:pk.off+pk.head])
	setPiece(&iov[1], pk.gathered)
	setPiece(&iov[2], arena[pk.off+pk.size-pk.tail:pk.off+pk.size])
	return 3
}

func setPiece(v *unix.Iovec, b []byte) {
	v.Base = &b[0]
	v.SetLen(len(b))
}
