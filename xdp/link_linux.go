package xdp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/rocinante-rdma/roce/internal/nic"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Link is a network interface and the AF_XDP sockets on its queues. Its methods are
// safe for concurrent use; who owns the rings, the package says.
type Link struct {
	nic     *nic.NIC
	port    *port
	queue   *nic.Queue
	closing sync.Once
}

var (
	_ link.Link    = (*Link)(nil)
	_ link.Watched = (*Link)(nil)
	_ link.Counted = (*Link)(nil)
	_ link.Rated   = (*Link)(nil)
)

// Open opens a link on a network interface; on a VLAN sub-interface such as "eth0.5"
// it uses the interface below with the addresses of that VLAN only. See the package
// for the privileges and the kernel that it needs. The error says what was tried, and
// what to do; it matches [bpf.ErrOccupied] if the interface has another XDP program.
func Open(ifname string, opts ...Option) (*Link, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	n, err := nic.Open(nic.Options{Interface: ifname, Addrs: c.addrs})
	if err != nil {
		return nil, fmt.Errorf("xdp: %w", err)
	}
	l := &Link{nic: n}
	if err := l.open(c); err != nil {
		return nil, fmt.Errorf("xdp: open %s: %w", ifname, errors.Join(err, n.Close()))
	}
	return l, nil
}

func (l *Link) open(c config) (err error) {
	if l.port, err = openPort(l.nic, c); err != nil {
		return err
	}
	l.queue, err = l.nic.NewQueue(l.port)
	return err
}

// Name is "xdp" and the interface's name.
func (l *Link) Name() string { return "xdp " + l.nic.Interface() }

// Addrs are the link's addresses, in the order of the GID table.
func (l *Link) Addrs() []netip.Addr { return l.nic.Addrs() }

// MTU is the interface's when the link was opened, in bytes; or less, if packets have
// to fit one chunk: see [Setup].
func (l *Link) MTU() int { return l.port.mtu }

// BitsPerSecond is the interface's speed when the link was opened, 0 if its driver does not
// say; a veth does not. See [link.Rated].
func (l *Link) BitsPerSecond() float64 { return l.nic.BitsPerSecond() }

// Queue is the link's one queue, which joins those of the interface.
func (l *Link) Queue() link.Queue { return l.queue }

// Resolve prepares a path: it asks the kernel for the route and the neighbour's MAC,
// which may take seconds. The path then follows the neighbour. One to an address of
// this host goes through the kernel's loopback interface, with source port 4791.
func (l *Link) Resolve(p *wire.Path) error {
	if err := l.nic.Resolve(p); err != nil {
		return fmt.Errorf("xdp: %w", err)
	}
	return nil
}

// State is whether packets can pass. See [link.Watched].
func (l *Link) State() link.State { return l.nic.State() }

// Events is the channel of what changes. See [link.Watched].
func (l *Link) Events() <-chan link.Event { return l.nic.Events() }

// Counters are the numbers that tell of trouble, if not zero: the link's, the
// kernel's (XDP_STATISTICS) and the XDP program's.
func (l *Link) Counters() []link.Counter { return append(l.port.Counters(), l.nic.Counters()...) }

// Setup is what kernel and driver gave.
func (l *Link) Setup() Setup { return l.port.setup }

// Close detaches the XDP program, frees the interface's queues, which can be used
// again at once, and UDP port 4791 of the addresses. A Park in progress returns; the
// queue does nothing any more.
func (l *Link) Close() (err error) {
	l.closing.Do(func() { err = errors.Join(l.queue.Close(), l.nic.Close()) })
	return err
}
