package udp

import (
	"fmt"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// refusals remembers the last packet that the kernel refused to send.
type refusals struct {
	mu       sync.Mutex
	src, dst netip.Addr
	size     int // UDP payload
	errno    syscall.Errno
}

func (r *refusals) note(src, dst netip.Addr, size int, errno syscall.Errno) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.src, r.dst, r.size, r.errno = src, dst, size, errno
}

func (r *refusals) last() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errno == 0 {
		return nil
	}
	return fmt.Errorf("udp: the kernel refused a packet from %v to %v of %d bytes with its IP header: %w: %s",
		r.src, r.dst, r.size+headerBytes(r.dst), r.errno, advice(r.errno, r.dst))
}

func headerBytes(a netip.Addr) int {
	if a.Is4() {
		return wire.IPv4Len + wire.UDPLen
	}
	return wire.IPv6Len + wire.UDPLen
}

func advice(errno syscall.Errno, dst netip.Addr) string {
	switch errno {
	case unix.EMSGSIZE:
		return fmt.Sprintf("it is larger than the MTU of the interface towards that address (`ip route get %v`): use a smaller path MTU for the QP, or raise the interface's", dst)
	case unix.EPERM:
		return "a firewall rule of this host drops it: allow UDP port 4791"
	case unix.EHOSTUNREACH, unix.EHOSTDOWN:
		return "nobody answers for that address, or its route says so: check that the peer is up and on this network"
	case unix.ENETUNREACH, unix.ENETDOWN, unix.ENODEV:
		return fmt.Sprintf("check that the interface is up and has a route (`ip route get %v`)", dst)
	default:
		return "the packet was dropped; the peer will miss it and ask again"
	}
}
