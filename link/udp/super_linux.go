package udp

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/wire"
)

// A super-frame is several packets that the kernel takes as one message and cuts by
// itself (UDP_SEGMENT): packets of one destination and traffic class, all as long as
// the first, only the last may be shorter. The kernel, or a device that does it,
// numbers them: their IPv4 identifications are 0, 1, 2 ….

// maxSuperFrame is one byte less than the gso_max_size of a device, from the Ethernet
// header on. Beyond it the kernel cuts the super-frame before the device, which costs
// what was to be saved.
const maxSuperFrame = 1<<16 - 1

// maxSuperPayload is the most that the packets of a super-frame add up to: 65,493
// bytes for IPv4, 65,473 for IPv6.
func maxSuperPayload(addr netip.Addr) int {
	return maxSuperFrame - wire.EthernetLen - headerBytes(addr)
}

// superSupport is what the kernel knows of super-frames.
type superSupport struct{ send, receive bool }

// enableSuperFrames has the kernel give those it receives whole (UDP_GRO, since Linux
// 5.0), and asks whether it takes any (UDP_SEGMENT, since 4.18): an older one ignores
// the control message and would send one long datagram.
func enableSuperFrames(fd int) superSupport {
	return superSupport{
		send:    unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, 0) == nil,
		receive: unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1) == nil,
	}
}

// unknown is the number of directions without super-frames.
func (s superSupport) unknown() (n uint64) {
	for _, known := range []bool{s.send, s.receive} {
		if !known {
			n++
		}
	}
	return n
}

// initBox makes the box ready for the super-frames that the kernel takes.
func (s superSupport) initBox(b *box, addr netip.Addr) {
	if s.send {
		b.Init(maxSuperPayload(addr))
	} else {
		b.Init(0)
	}
}

// divide answers an error that may be about a super-frame as such: its packets go
// singly. A single packet is refused. It returns the number of packets done with.
//
// EMSGSIZE speaks of the interface's MTU; EINVAL of the number of packets, or of a socket
// or (on older kernels) a path MTU that do not allow it; EIO of IPsec, or before
// Linux 6.11 of a device that computes no checksums.
func (q *queue) divide(first int, errno syscall.Errno) (done int) {
	packets, _ := q.box.Burst(first)
	if packets == 1 {
		return q.refuse(first, errno)
	}
	q.count.superRefused.Add(1)
	switch {
	case errno == unix.EINVAL && packets > outbox.OldSegments:
		q.box.SetSegments(outbox.OldSegments)
	case errno != unix.EMSGSIZE:
		q.box.At(first).To.single = true
	}
	q.box.Dissolve(first, packets, seal)
	return first
}

// seal seals a packet that has become a single one.
func seal(to destination, head []byte, body [][]byte, tail []byte) { to.flow.Seal(0, head, body, tail) }
