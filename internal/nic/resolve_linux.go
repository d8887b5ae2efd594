package nic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// patience is how long Resolve waits for a neighbour: somewhat longer than the kernel
// tries (three solicitations, a second apart).
const patience = 5 * time.Second

// Resolve prepares a path for sending: it asks the kernel for the route and, which
// may take seconds, for the neighbour's MAC. It sets the MACs, the VLAN ID (priority
// bits stay), the source address if there was none, and Link: a [*Peer], or for an
// address of this host what only [Queue] understands, with source port 4791.
//
// Where several VLANs have the source address, the VLAN ID of the path says which.
func (n *NIC) Resolve(p *wire.Path) error {
	if err := n.resolve(p); err != nil {
		return fmt.Errorf("%s: resolve %v: %w", n.name, p.Dst, err)
	}
	p.Prepare()
	return nil
}

func (n *NIC) resolve(p *wire.Path) error {
	n.resolving.RLock()
	defer n.resolving.RUnlock()
	if n.life.Err() != nil {
		return net.ErrClosed
	}
	i, err := n.source(p)
	if err != nil {
		return err
	}
	l := n.locals[i]
	p.Src = l.addr
	p.VLAN = p.VLAN&^wire.VLANID | l.vlan
	hop, err := n.route(l, p.Dst)
	if err == nil && hop.Local {
		return n.ownHost[i].resolve(n.host, p)
	}
	// What is wrong with the interface explains why there is no route.
	if trouble := n.trouble(l); trouble != nil {
		return trouble
	}
	if err != nil {
		return err
	}
	return n.connect(p, l, hop.Next)
}

// source is the index of the local address that the path begins at.
func (n *NIC) source(p *wire.Path) (int, error) {
	if !p.Dst.IsValid() || p.Dst.Is4In6() || p.Dst.IsUnspecified() || p.Dst.IsMulticast() || p.Dst.Zone() != "" {
		return 0, errors.New("need one unicast address, without zone and IPv4 as 4 bytes")
	}
	found := -1
	for i, l := range n.locals {
		same := l.addr == p.Src || !p.Src.IsValid() && l.addr.Is4() == p.Dst.Is4()
		if same && (found < 0 || p.VLAN&wire.VLANID == l.vlan && p.VLAN&wire.VLANID != n.locals[found].vlan) {
			found = i
		}
	}
	switch {
	case found < 0 && !p.Src.IsValid():
		return 0, fmt.Errorf("no local address of its family: they are %v", n.Addrs())
	case found < 0:
		return 0, fmt.Errorf("source address %v is not this link's: they are %v", p.Src, n.Addrs())
	case n.locals[found].addr.Is4() != p.Dst.Is4():
		return 0, fmt.Errorf("not an address of the family of the source address %v", p.Src)
	}
	return found, nil
}

// trouble says why nothing can be sent to the wire from an address now.
func (n *NIC) trouble(l *local) error {
	switch {
	case n.State() == link.Gone:
		return n.gone()
	case !n.base.up.Load():
		return down(n.base)
	case !l.on.up.Load():
		return down(l.on)
	case !l.present.Load():
		return fmt.Errorf("the source address %v was removed from %s: add it again, or use another", l.addr, l.on.name)
	}
	return nil
}

func down(d *device) error {
	return fmt.Errorf("interface %s is down or has no carrier: `ip link set %s up`, and look at its peer or cable", d.name, d.name)
}

// route asks the kernel for the way, which has to lead through the interface that has
// the source address.
func (n *NIC) route(l *local, dst netip.Addr) (hostnet.Hop, error) {
	if dst.IsLinkLocalUnicast() {
		return n.host.Route(l.addr, dst, l.on.index)
	}
	hop, err := n.host.Route(l.addr, dst, 0)
	if err != nil || hop.Local || hop.IfIndex == l.on.index {
		return hop, err
	}
	// Of two interfaces in one network the table names the other one, but the wire of
	// this one leads there too.
	for _, prefix := range l.on.prefixes {
		if prefix.Contains(dst) {
			return hostnet.Hop{IfIndex: l.on.index, Next: dst, MTU: n.mtu}, nil
		}
	}
	return hop, fmt.Errorf("the route from %v leads through %s, not %s: open a link on that interface, or route it through %s (`ip route get %v from %v`)",
		l.addr, n.host.NameOf(hop.IfIndex), l.on.name, l.on.name, dst, l.addr)
}

// connect makes the path's peer, which follows the neighbour from then on.
func (n *NIC) connect(p *wire.Path, l *local, next netip.Addr) error {
	nb, changes := n.peers.hold(hopKey{l.on.index, next})
	defer n.peers.release(nb)
	ctx, cancel := context.WithTimeout(n.life, patience)
	defer cancel()
	mac, err := n.host.Neighbour(ctx, l.on.index, next)
	if err != nil {
		if next != p.Dst {
			err = fmt.Errorf("the gateway towards it: %w", err)
		}
		return err
	}
	p.SrcMAC, p.DstMAC = *l.on.mac.Load(), mac
	p.Link = n.peers.add(nb, l.on, *p, mac, changes)
	return nil
}
