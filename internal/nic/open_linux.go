package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/wire"
)

// Options say what to open.
type Options struct {
	// Interface is the name of a network interface. A VLAN sub-interface stands for
	// the interface it lies on with the addresses of that VLAN only.
	Interface string
	// Addrs are the addresses to use, in this order. None: all usable GIDs of the
	// interface, in the order of their indices.
	Addrs []netip.Addr
}

// Open opens an interface of the calling thread's network namespace, in which it
// stays. It sends nothing and needs no privilege.
func Open(o Options) (*NIC, error) {
	n, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Interface, err)
	}
	return n, nil
}

func open(o Options) (n *NIC, err error) {
	n = &NIC{name: o.Interface}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.host, err = hostnet.NewHandle(); err != nil {
		return n, err
	}
	// Watched first, read then: what changes in between is told, not missed.
	if n.monitor, err = n.host.NewMonitor(); err != nil {
		return n, err
	}
	named, err := n.host.ByName(o.Interface)
	if err != nil {
		return n, err
	}
	all, err := n.host.Interfaces()
	if err != nil {
		return n, err
	}
	base, err := baseOf(named, all)
	if err != nil {
		return n, err
	}
	gids, err := n.choose(named, base, o.Addrs)
	if err != nil {
		return n, err
	}
	n.take(named, base, all, gids)
	if len(n.locals) == 0 {
		return n, errors.New("its addresses went away meanwhile: try again")
	}
	n.openOwnHost()
	n.startWatch()
	return n, nil
}

// baseOf is the interface whose wire carries the frames of the named one.
func baseOf(named *hostnet.Interface, all []hostnet.Interface) (*hostnet.Interface, error) {
	if named.Loopback {
		return nil, errors.New("it is the loopback interface, where there are no frames to send: use the udp link")
	}
	if named.MAC == (wire.MAC{}) {
		return nil, errors.New("it has no MAC, so what it carries are no Ethernet frames (a tunnel?): use the udp link")
	}
	if named.VLAN == 0 {
		return named, nil
	}
	base := hostnet.Find(named.Parent, all)
	if base == nil {
		return nil, errors.New("the interface that this VLAN lies on is in another network namespace: use the udp link, or open that one there")
	}
	return base, nil
}

// choose picks the GIDs to use from the table of the base interface: those of a named
// sub-interface, else all; and of these what the caller wants.
func (n *NIC) choose(named, base *hostnet.Interface, want []netip.Addr) ([]hostnet.GID, error) {
	table, err := n.host.GIDs(base)
	if err != nil {
		return nil, err
	}
	if named != base {
		table = slices.DeleteFunc(table, func(g hostnet.GID) bool { return g.IfIndex != named.Index })
		if len(table) == 0 {
			return nil, fmt.Errorf("no usable GID: it has no address; add one: ip address add ADDRESS/BITS dev %s", named.Name)
		}
	}
	usable, err := hostnet.Usable(table)
	if err != nil || len(want) == 0 {
		return usable, err
	}
	return pick(usable, table, want)
}

// pick finds the wanted addresses.
func pick(usable, table []hostnet.GID, want []netip.Addr) (picked []hostnet.GID, err error) {
	for _, addr := range want {
		has := func(g hostnet.GID) bool { return g.Addr == addr.Unmap().WithZone("") }
		i := slices.IndexFunc(usable, has)
		if i >= 0 {
			picked = append(picked, usable[i])
			continue
		}
		if i = slices.IndexFunc(table, has); i >= 0 {
			return nil, fmt.Errorf("address %v cannot be used: %s", addr, table[i].Problem)
		}
		return nil, fmt.Errorf("it does not have the address %v; there are %s", addr, listed(usable))
	}
	return picked, nil
}

func listed(gids []hostnet.GID) string {
	var b strings.Builder
	for i, g := range gids {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v on %s", g.Addr, g.Interface)
	}
	return b.String()
}

// take makes the NIC what was chosen.
func (n *NIC) take(named, base *hostnet.Interface, all []hostnet.Interface, gids []hostnet.GID) {
	n.base, n.named = n.add(base), n.add(named)
	n.rate = rateOf(base)
	for _, g := range gids {
		on := hostnet.Find(g.IfIndex, all)
		if on == nil {
			continue // deleted since the interfaces were listed
		}
		l := &local{addr: g.Addr, vlan: g.VLAN, on: n.add(on)}
		l.present.Store(true)
		n.locals = append(n.locals, l)
	}
}

// add returns the device for an interface, made if need be.
func (n *NIC) add(i *hostnet.Interface) *device {
	if d := n.device(i.Index); d != nil {
		return d
	}
	d := &device{index: i.Index, name: i.Name, kind: i.Kind, prefixes: i.Addrs, mtu: i.MTU}
	d.set(i.MAC, i.Up)
	n.devices = append(n.devices, d)
	if n.mtu == 0 || d.mtu < n.mtu {
		n.mtu = d.mtu
	}
	return d
}
