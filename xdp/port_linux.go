package xdp

import (
	"errors"
	"sync"

	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/nic"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// port is the sockets on an interface, one for each of its queues, and the XDP
// program that feeds them. See [nic.Port] for who may call what.
//
// Room and Reserve may meet a Close by another goroutine: they touch no ring.
type port struct {
	filter  *bpf.Filter
	sockets []*socket
	first   int    // the socket that recv looks at first: each in its turn
	mtu     int    // bytes of an IP packet
	id      uint16 // IPv4 identification of the last packet
	setup   Setup
	count   counters

	closing sync.Mutex // Counters and Close
	closed  bool
}

var _ nic.Port = (*port)(nil)

// Room is that of the socket that has least: a path decides on its socket.
func (p *port) Room() int {
	room := p.sockets[0].tx.room()
	for _, s := range p.sockets[1:] {
		room = min(room, s.tx.room())
	}
	return room
}

// Reserve copies the payload, whether it must or not: the kernel sends what is in
// the socket's own memory.
func (p *port) Reserve(t *wire.Template, hdr int, pay [][]byte, pad int, _ bool, s *link.Slot) {
	p.id++
	// The same socket for all packets of a path, so that they stay in order.
	p.sockets[int(t.SourcePort())%len(p.sockets)].tx.reserve(t, p.id, hdr, pay, pad, s)
}

// Flush sends on all sockets. See [link.Queue].
func (p *port) Flush() (pending int, err error) {
	for _, s := range p.sockets {
		n, failure := s.flush(&p.count)
		pending += n
		if failure != nil {
			err = failure
		}
	}
	return pending, err
}

// Recv looks at all sockets. See [link.Queue].
func (p *port) Recv(out []link.Rx) (n int) {
	for i := range p.sockets {
		n += p.sockets[(p.first+i)%len(p.sockets)].recv(out[n:], &p.count)
	}
	p.first = (p.first + 1) % len(p.sockets)
	return n
}

// Release gives all frames back. See [link.Queue].
func (p *port) Release() {
	for _, s := range p.sockets {
		s.release()
	}
}

// Sockets are readable when there are packets, and writable when their TX ring is
// half empty.
func (p *port) Sockets() []int {
	fds := make([]int, len(p.sockets))
	for i, s := range p.sockets {
		fds[i] = s.fd
	}
	return fds
}

// Close detaches the program and frees the queues.
func (p *port) Close() error {
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	var errs []error
	if p.filter != nil {
		errs = append(errs, p.filter.Close())
	}
	for _, s := range p.sockets {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
