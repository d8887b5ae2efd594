package udp

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// counters are written under the shard's lock and read by anyone.
type counters struct {
	sent, received                    atomic.Uint64
	superSent, superReceived          atomic.Uint64
	wouldBlock, tooBig, refused       atomic.Uint64
	superRefused, tooLong, sockErrors atomic.Uint64
}

// lent counts what one call brought.
func (c *counters) lent(got *lent) {
	c.received.Add(uint64(got.packets))
	if got.supers > 0 {
		c.superReceived.Add(uint64(got.supers))
	}
	if got.tooLong > 0 {
		c.tooLong.Add(uint64(got.tooLong))
	}
}

func (q *queue) stats() Stats {
	return Stats{
		Sent:          q.count.sent.Load(),
		Received:      q.count.received.Load(),
		SuperSent:     q.count.superSent.Load(),
		SuperReceived: q.count.superReceived.Load(),
		SuperRefused:  q.count.superRefused.Load(),
		SuperUnknown:  q.supers.unknown(),
		WouldBlock:    q.count.wouldBlock.Load(),
		TooBig:        q.count.tooBig.Load(),
		Refused:       q.count.refused.Load(),
		TooLong:       q.count.tooLong.Load(),
		Overrun:       q.overrun(),
		SockErrors:    q.count.sockErrors.Load(),
	}
}

// overrun is how many datagrams found the receive buffer full. Where a filter drops
// datagrams, the kernel's one number says nothing about the buffer.
func (q *queue) overrun() uint64 {
	if q.filtered {
		return 0
	}
	return q.socketDrops()
}

// socketDrops asks the socket how many datagrams it dropped; 0 once it is closed.
func (q *queue) socketDrops() uint64 {
	if !q.spot.Enter() {
		return 0
	}
	defer q.spot.Leave()
	var info [unix.SK_MEMINFO_VARS]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(q.sock), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0
	}
	return uint64(info[unix.SK_MEMINFO_DROPS])
}
