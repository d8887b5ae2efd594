package xdp

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/ethtool"
	"github.com/rocinante-rdma/roce/internal/nic"
)

// openPort attaches the XDP program to the interface and opens a socket on each queue.
// Packets go to the host until all are there.
func openPort(n *nic.NIC, c config) (*port, error) {
	p := &port{}
	if err := p.open(n, c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *port) open(n *nic.NIC, c config) error {
	itf, index := n.Base()
	mode, err := c.modeOn(itf, n.OnBond())
	if err != nil {
		return err
	}
	count := cmp.Or(ethtool.RxQueues(itf), 1)
	queues, err := c.choose(itf, count)
	if err != nil {
		return err
	}
	err = withMemlock(0, func() (err error) {
		p.filter, err = bpf.Attach(bpf.Config{
			Interface: itf, Index: index, Queues: count, Addrs: n.Addrs(), Mode: mode})
		return err
	})
	if err != nil {
		return err
	}
	b := binding{nic: n, itf: itf, index: index, flags: c.flags()}
	if n.MTU() > SingleMTU && !c.single {
		b.flags |= unix.XDP_USE_SG
	}
	if err := p.openSockets(&b, queues, c.copies); err != nil {
		return err
	}
	p.describe(n, c, queues)
	return p.connect()
}

// modeOn is the mode to ask for on an interface.
func (c *config) modeOn(itf string, bond bool) (bpf.Mode, error) {
	if !bond || c.mode == bpf.Generic {
		return c.mode, nil
	}
	if c.mode == bpf.Native {
		return c.mode, fmt.Errorf("%w: use the generic mode, or the udp or raw link", noNativeOnBond(itf))
	}
	return bpf.Generic, nil
}

// noNativeOnBond is why the native mode is not asked for on a bond, where the kernel
// has it: xsk_rcv_check in net/xdp/xsk.c compares the device of the packet with that of
// the socket.
func noNativeOnBond(itf string) error {
	return fmt.Errorf("%s is a bond: its members receive the packets, and the kernel drops those in native mode since the AF_XDP socket is the bond's", itf)
}

// choose returns the queues to use, of the count that the interface has.
func (c *config) choose(itf string, count int) (queues []int, err error) {
	for _, q := range c.queues {
		if q < 0 || q >= count {
			return nil, fmt.Errorf("%s has no receive queue %d: it has %d, counted from 0 (`ethtool -l %s`)", itf, q, count, itf)
		}
	}
	if len(c.queues) > 0 {
		return c.queues, nil
	}
	for q := range count {
		queues = append(queues, q)
	}
	return queues, nil
}

// flags are those of the bind that stand for a wish.
func (c *config) flags() uint16 {
	switch c.copies {
	case wantZeroCopy:
		return unix.XDP_ZEROCOPY
	case wantCopy:
		return unix.XDP_COPY
	default:
		return 0
	}
}

// openSockets opens a socket on each queue. What one of them could not have, the
// others are not asked for.
func (p *port) openSockets(b *binding, queues []int, c copies) error {
	for _, b.queue = range queues {
		s, err := p.openSingleIfNeeded(b)
		if err != nil {
			return err
		}
		if failure := s.probeZeroCopy(); failure != nil {
			if err := s.close(); err != nil || c == wantZeroCopy {
				return errors.Join(failure, err)
			}
			p.setup.WhyCopy = failure
			b.flags |= unix.XDP_COPY
			if s, err = openSocket(*b); err != nil {
				return err
			}
		}
		p.sockets = append(p.sockets, s)
	}
	return nil
}

// openSingleIfNeeded opens a socket, without packets of several chunks if kernel or
// driver have none of that.
func (p *port) openSingleIfNeeded(b *binding) (*socket, error) {
	s, err := openSocket(*b)
	if b.flags&unix.XDP_USE_SG == 0 || !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EOPNOTSUPP) {
		return s, err
	}
	if errors.Is(err, unix.EINVAL) {
		p.setup.WhySingle = fmt.Errorf("the kernel has it from Linux 6.6 on: %w", unix.EINVAL)
	} else {
		p.setup.WhySingle = fmt.Errorf("the driver has it not together with zero-copy: %w", unix.EOPNOTSUPP)
	}
	b.flags &^= unix.XDP_USE_SG
	return openSocket(*b)
}

// probeZeroCopy has the driver look for packets to send, of which there are none yet:
// some can be bound for zero-copy and then fail to send.
func (s *socket) probeZeroCopy() error {
	if !s.zeroCopy {
		return nil
	}
	switch errno := kickTx(s.fd); errno {
	case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.ENETDOWN:
		return nil
	default:
		return fmt.Errorf("the driver binds %s for zero-copy, and then does not send: %w", s.name(), errno)
	}
}

// describe sets down what was got.
func (p *port) describe(n *nic.NIC, c config, queues []int) {
	p.setup.Mode, p.setup.WhyGeneric = p.filter.Mode(), p.filter.WhyGeneric()
	if n.OnBond() && c.mode == bpf.Auto {
		itf, _ := n.Base()
		p.setup.WhyGeneric = noNativeOnBond(itf)
	}
	p.setup.ZeroCopy, p.setup.MultiBuffer = true, true
	p.setup.Queues = queues
	for _, s := range p.sockets {
		p.setup.ZeroCopy = p.setup.ZeroCopy && s.zeroCopy
		p.setup.MultiBuffer = p.setup.MultiBuffer && s.multiBuffer()
	}
	p.mtu = n.MTU()
	if !p.setup.MultiBuffer {
		p.mtu = min(p.mtu, SingleMTU)
	}
	if !p.setup.ZeroCopy && c.copies == anyCopies && p.setup.WhyCopy == nil {
		p.setup.WhyCopy = errors.New("the driver has none, or none for packets of several chunks")
	}
}

// connect gives the sockets the packets of their queues.
func (p *port) connect() error {
	for _, s := range p.sockets {
		if err := p.filter.SetSocket(s.queue, s.fd); err != nil {
			return err
		}
	}
	return nil
}
