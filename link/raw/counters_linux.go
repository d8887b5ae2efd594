package raw

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/link"
)

// counters are written under the shard's lock and read by anyone.
type counters struct {
	superSent, superReceived atomic.Uint64 // super-frames

	wouldBlock, full, tooBig, refused, down atomic.Uint64

	truncated, short, foreignTag, unknownSuper, sockErrors atomic.Uint64

	overrun overrun
}

// overrun adds up what the kernel dropped because the receive buffer was full. The
// kernel's own counter starts anew at each look.
type overrun struct {
	mu    sync.Mutex
	total uint64
}

// look asks the socket, which must be open.
func (o *overrun) look(fd int) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	var stats unix.TpacketStats
	size := uint32(unsafe.Sizeof(stats))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS,
		uintptr(unsafe.Pointer(&stats)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 {
		o.total += uint64(stats.Drops)
	}
	return o.total
}

// Counters are the numbers that tell of trouble, if not zero, and those of
// super-frames. Any goroutine may call it.
func (p *port) Counters() (list []link.Counter) {
	n := &p.count
	for _, c := range []link.Counter{
		{Name: "raw: super-frames sent", Value: n.superSent.Load()},
		{Name: "raw: super-frames received", Value: n.superReceived.Load()},
		{Name: "raw: send buffer or device queue was full", Value: n.wouldBlock.Load()},
		{Name: "raw: not sent, the device's queue stayed full", Value: n.full.Load()},
		{Name: "raw: not sent, larger than the interface's MTU", Value: n.tooBig.Load()},
		{Name: "raw: not sent, refused by the kernel", Value: n.refused.Load()},
		{Name: "raw: not sent, the interface was down", Value: n.down.Load()},
		{Name: "raw: dropped, longer than any frame", Value: n.truncated.Load()},
		{Name: "raw: dropped, shorter than its virtio header", Value: n.short.Load()},
		{Name: "raw: dropped, tag of a provider's VLAN", Value: n.foreignTag.Load()},
		{Name: "raw: dropped, super-frame that the kernel cannot describe (UDP needs Linux 6.2)", Value: n.unknownSuper.Load()},
		{Name: "raw: dropped, the receive buffer was full", Value: p.overrun()},
		{Name: "raw: errors reported by the socket", Value: n.sockErrors.Load()},
	} {
		if c.Value != 0 {
			list = append(list, c)
		}
	}
	return list
}
