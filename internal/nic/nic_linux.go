package nic

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/internal/ethtool"
	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// NIC is a network interface with the addresses that peers know it by. Any goroutine
// may call its methods.
type NIC struct {
	name string // as the user gave it
	host *hostnet.Handle
	mtu  int
	rate float64 // bit/s, 0: unknown

	named, base *device
	devices     []*device // all that have to do with the NIC
	locals      []*local
	ownHost     []*ownHost // one for each of locals

	monitor *hostnet.Monitor
	events  chan link.Event
	state   atomic.Uint32 // a link.State
	drops   drops

	peers peers

	life      context.Context // ends with Close
	end       context.CancelFunc
	work      sync.WaitGroup // goroutines
	resolving sync.RWMutex   // held by Resolve, which uses what Close closes
	closing   sync.Once
}

var (
	_ link.Watched = (*NIC)(nil)
	_ link.Rated   = (*NIC)(nil)
)

// device is an interface: the base, or a VLAN sub-interface of it.
type device struct {
	index    int
	name     string
	kind     string         // of hostnet.Interface
	prefixes []netip.Prefix // as they were when the NIC was opened
	mtu      int            // bytes; of the watch
	mac      atomic.Pointer[wire.MAC]
	up       atomic.Bool
}

func (d *device) set(mac wire.MAC, up bool) {
	d.mac.Store(&mac)
	d.up.Store(up)
}

// local is an address of the NIC.
type local struct {
	addr    netip.Addr
	vlan    uint16 // VLAN ID, 0: none
	on      *device
	present atomic.Bool // the interface still has it
}

// Interface is the name of the interface, as it was given to [Open].
func (n *NIC) Interface() string { return n.name }

// Base is the name and index of the interface whose wire carries the frames: the
// parent, where Interface is a VLAN sub-interface.
func (n *NIC) Base() (name string, index int) { return n.base.name, n.base.index }

// MAC is the base interface's.
func (n *NIC) MAC() wire.MAC { return *n.base.mac.Load() }

// OnBond reports whether the wire is that of a bond, whose members receive the frames.
func (n *NIC) OnBond() bool { return n.base.kind == "bond" }

// Addrs are the addresses, in the order of the GID table. It may hold a link-local
// address several times, on different VLANs.
func (n *NIC) Addrs() []netip.Addr {
	addrs := make([]netip.Addr, len(n.locals))
	for i, l := range n.locals {
		addrs[i] = l.addr
	}
	return addrs
}

// MTU is the size of the largest IP packet, in bytes, when the NIC was opened: the
// least of the interfaces that have the addresses.
func (n *NIC) MTU() int { return n.mtu }

// BitsPerSecond is the speed of the base interface when the NIC was opened: see [link.Rated].
// What a veth says of itself is made up.
func (n *NIC) BitsPerSecond() float64 { return n.rate }

// rateOf asks an interface's driver for its speed.
func rateOf(i *hostnet.Interface) float64 {
	const megabit = 1e6
	if i.Kind == "veth" {
		return 0
	}
	return float64(ethtool.Speed(i.Name)) * megabit
}

// Counters are what arrived and was dropped, and the counters of the links to peers on
// the same host.
func (n *NIC) Counters() []link.Counter {
	list := n.drops.counters()
	for _, o := range n.ownHost {
		list = append(list, o.counters()...)
	}
	return list
}

// Close ends the watch of the interface and frees UDP port 4791 of its addresses.
// Queues must be closed before.
func (n *NIC) Close() (err error) {
	n.closing.Do(func() { err = n.close() })
	return err
}

func (n *NIC) close() error {
	var errs []error
	if n.end != nil {
		n.end()
	}
	n.resolving.Lock()
	defer n.resolving.Unlock()
	if n.monitor != nil {
		errs = append(errs, n.monitor.Close())
	}
	n.work.Wait()
	if n.events != nil {
		close(n.events)
	}
	for _, o := range n.ownHost {
		errs = append(errs, o.close())
	}
	if n.host != nil {
		errs = append(errs, n.host.Close())
	}
	return errors.Join(errs...)
}
