//go:build linux

package guest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// wireLink is a Wire as the project's link.Link: the test's own stack is the
// guest's peer, without a socket of the system's in between.
type wireLink struct {
	w         *Wire
	q         *wireQueue
	closeOnce sync.Once
}

// Link opens the wire as a link of the project's stack, with the addresses that
// the wire has at this time. It takes all frames from the guest; those that are
// not RoCEv2 packets for one of the addresses are dropped, and so are those
// that waited for ReadFrame. Faults, tap and recording work as ever. One
// link can be open at a time; its Close leaves the wire open for another.
func (w *Wire) Link() (link.Link, error) {
	l := &wireLink{w: w}
	q, err := newWireQueue(l)
	if err != nil {
		return nil, err
	}
	l.q = q
	if !w.link.CompareAndSwap(nil, l) {
		q.close()
		return nil, errors.New("guest: the wire has a link already; close that first")
	}
	for range len(w.inbox) {
		select {
		case f := <-w.inbox:
			w.recycle(f)
		default:
		}
	}
	return l, nil
}

// arrived says that a frame is in the inbox.
func (l *wireLink) arrived() { l.q.arrived() }

func (l *wireLink) Name() string { return "wire to a guest" }

func (l *wireLink) Addrs() []netip.Addr {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return slices.Clone(l.w.addrs)
}

func (l *wireLink) MTU() int { return l.w.mtu }

// Resolve finds the Ethernet address: the guest's own are known, others are
// learned from what the guest has sent.
func (l *wireLink) Resolve(p *wire.Path) error {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.addrs, p.Src) {
		return fmt.Errorf("guest: resolve: source %v is none of the wire's addresses %v", p.Src, w.addrs)
	}
	mac, ok := w.macs[p.Dst]
	if !ok && (p.Dst == GuestIPv4.Addr() || p.Dst == GuestIPv6.Addr()) {
		mac, ok = wire.MAC(GuestMAC), true
	}
	if !ok {
		return fmt.Errorf("guest: resolve: %v is not the guest's, and it has sent nothing from it yet", p.Dst)
	}
	p.SrcMAC, p.DstMAC = wire.MAC(HostMAC), mac
	return nil
}

func (l *wireLink) Queue() link.Queue { return l.q }

func (l *wireLink) Close() error {
	l.closeOnce.Do(func() {
		l.q.close()
		l.w.link.Store(nil)
	})
	return nil
}
