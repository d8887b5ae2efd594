package udp

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/link"
)

// Link is one address and its UDP port 4791. Its methods are safe for concurrent
// use.
type Link struct {
	addr  netip.Addr // without zone: what peers know as the GID
	scope uint32     // interface index of a link-local address, else 0
	mtu   int
	queue *queue
	peers *peers // apart: the clean-ups of peers must not keep the link alive
}

var _ link.Link = (*Link)(nil)

// Open opens a link on an address of this host; a link-local IPv6 address needs its
// zone. The error matches [ErrPortInUse] if the port is taken.
func Open(addr netip.Addr, opts ...Option) (*Link, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	addr = addr.Unmap()
	itf, err := ownerOf(addr)
	if err != nil {
		return nil, openError(addr, err)
	}
	l := &Link{addr: addr.WithZone(""), mtu: itf.MTU, peers: new(peers)}
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		l.scope = uint32(itf.Index)
	}
	sock, err := openSocket(l.addr, l.scope, c)
	if err != nil {
		return nil, openError(addr, err)
	}
	if l.queue, err = newQueue(sock, l.addr); err != nil {
		return nil, openError(addr, err)
	}
	l.queue.filtered = c.ownHost
	return l, nil
}

// Name is "udp" and the address.
func (l *Link) Name() string { return "udp " + l.addr.String() }

// Addrs is the one address of the link.
func (l *Link) Addrs() []netip.Addr { return []netip.Addr{l.addr} }

// MTU is that of the interface that has the address, in bytes.
func (l *Link) MTU() int { return l.mtu }

// Queue is the link's one queue.
func (l *Link) Queue() link.Queue { return l.queue }

// FD is the link's socket, for an epoll to watch while the link is polled; it is
// valid until Close.
func (l *Link) FD() int { return l.queue.sock }

// Close frees the port. A Park in progress returns; the queue does nothing any more.
func (l *Link) Close() error { return l.queue.close() }

// Stats returns the link's counters.
func (l *Link) Stats() Stats { return l.queue.stats() }

// Buffers returns the sizes of the socket's buffers in bytes, as the kernel counts
// (it charges a packet of 4 KiB with about 8). Without CAP_NET_ADMIN the sysctls
// net.core.rmem_max and wmem_max limit them.
func (l *Link) Buffers() (receive, send int) { return l.queue.buffers() }

// LastRefusal says which packet the kernel last refused to send, and why: too big
// for its path, no route, no neighbour, a firewall. It is nil if there was none.
func (l *Link) LastRefusal() error { return l.queue.refusals.last() }
