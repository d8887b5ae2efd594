package nic

import (
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Port is the wire's side of a link below IP: one or more sockets on an interface,
// which send and receive whole Ethernet frames. [Queue] joins one with the way to
// peers on the same host, and with parking.
//
// Except Sockets and Close, the methods are called under the shard's lock;
// they mean what those of [link.Queue] with the same names do.
type Port interface {
	// Room is the number of packets of maximal size that Reserve takes for certain.
	Room() int
	// Reserve begins a packet whose Ethernet, IP and UDP headers are t's. The port
	// chooses the IPv4 identification.
	Reserve(t *wire.Template, hdr int, pay [][]byte, pad int, mustCopy bool, s *link.Slot)
	// Flush sends what was reserved.
	Flush() (pending int, err error)
	// Recv sets rx to frames that are RoCEv2 for one of the link's addresses and
	// leaves out, counted, what is not.
	Recv(rx []link.Rx) int
	// Release gives all frames lent by Recv back.
	Release()
	// Sockets are the descriptors that epoll watches while the queue is parked:
	// readable when Recv has something, writable when Flush can make progress. They
	// are constant and stay open until Close.
	Sockets() []int
	// Close closes the sockets. The queue calls it when nothing else is called any
	// more.
	Close() error
}
