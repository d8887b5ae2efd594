package nic

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
)

const (
	eventsKept = 64 // that nobody has taken yet

	// confirmEvery is how often the kernel is told that a neighbour is in use. It
	// does not see our packets, and would neither notice that nobody answers nor keep
	// the entry.
	confirmEvery = 10 * time.Second
)

// State is whether packets can pass. See [link.Watched].
func (n *NIC) State() link.State { return link.State(n.state.Load()) }

// Events is the channel of what changes. See [link.Watched].
func (n *NIC) Events() <-chan link.Event { return n.events }

func (n *NIC) startWatch() {
	n.events = make(chan link.Event, eventsKept)
	n.life, n.end = context.WithCancel(context.Background())
	n.judge()
	n.work.Go(n.watch)
}

// watch follows the changes of the host's network until Close.
func (n *NIC) watch() {
	confirm := time.NewTicker(confirmEvery)
	defer confirm.Stop()
	for {
		select {
		case c, open := <-n.monitor.Changes():
			if !open {
				return
			}
			n.follow(c)
		case <-confirm.C:
			n.confirm()
		}
	}
}

// follow draws the consequences of one change.
func (n *NIC) follow(c hostnet.Change) {
	switch c.Kind {
	case hostnet.LinkChanged:
		n.linkChanged(c)
	case hostnet.LinkDeleted:
		n.linkDeleted(c.IfIndex)
	case hostnet.AddrAdded, hostnet.AddrRemoved:
		n.addrChanged(c.IfIndex, c.Addr, c.Kind == hostnet.AddrAdded)
	case hostnet.NeighbourChanged:
		n.moved(n.peers.move(hopKey{c.IfIndex, c.Addr}, c.MAC))
	case hostnet.NeighbourLost:
		if nb := n.peers.find(hopKey{c.IfIndex, c.Addr}); nb != nil {
			n.seek(nb)
		}
	}
}

func (n *NIC) linkChanged(c hostnet.Change) {
	d := n.device(c.IfIndex)
	if d == nil {
		return
	}
	remade := *d.mac.Load() != c.MAC
	d.set(c.MAC, c.Up)
	if remade {
		n.peers.renew()
	}
	if d == n.named && c.MTU != n.named.mtu {
		n.named.mtu = c.MTU
		n.tell(link.Event{Kind: link.MTUChanged, MTU: c.MTU})
	}
	n.judge()
}

func (n *NIC) linkDeleted(index int) {
	d := n.device(index)
	if d == nil {
		return
	}
	d.up.Store(false)
	if d == n.base || d == n.named {
		n.state.Store(uint32(link.Gone))
		n.tell(link.Event{Kind: link.DeviceGone})
	}
}

func (n *NIC) device(index int) *device {
	for _, d := range n.devices {
		if d.index == index {
			return d
		}
	}
	return nil
}

// judge finds out whether packets can pass, and tells when that changed.
func (n *NIC) judge() {
	now, kind := link.Down, link.PortDown
	if n.base.up.Load() && n.named.up.Load() {
		now, kind = link.Active, link.PortActive
	}
	if before := n.State(); before == now || before == link.Gone {
		return
	}
	n.state.Store(uint32(now))
	n.tell(link.Event{Kind: kind})
	if now == link.Active {
		n.confirm() // the kernel forgot its neighbours
	}
}

func (n *NIC) addrChanged(index int, addr netip.Addr, present bool) {
	for _, l := range n.locals {
		if l.on.index != index || l.addr != addr || l.present.Swap(present) == present {
			continue
		}
		kind := link.AddrRemoved
		if present {
			kind = link.AddrAdded
		}
		n.tell(link.Event{Kind: kind, Addr: addr})
	}
}

// moved tells which peers got another MAC.
func (n *NIC) moved(addrs []netip.Addr) {
	for _, addr := range addrs {
		n.tell(link.Event{Kind: link.PeerMoved, Addr: addr})
	}
}

// confirm asks for all neighbours in use.
func (n *NIC) confirm() {
	for _, nb := range n.peers.inUse() {
		n.seek(nb)
	}
}

// seek has the kernel look for a neighbour, aside and one call at a time: one that is
// wanted again meanwhile is looked for again, since it may have been lost after the
// call saw it. Until it is found its peers keep the MAC they have: there is no better
// one.
func (n *NIC) seek(nb *neighbour) {
	if nb.wanted.Add(1) > 1 {
		return
	}
	n.work.Go(func() {
		for served := int32(1); served != 0 && n.life.Err() == nil; served = nb.wanted.Add(-served) {
			n.look(nb)
		}
	})
}

// look has the kernel look for a neighbour once.
func (n *NIC) look(nb *neighbour) {
	ctx, cancel := context.WithTimeout(n.life, patience)
	defer cancel()
	changes := n.peers.changesOf(nb)
	if mac, err := n.host.Neighbour(ctx, nb.key.device, nb.key.next); err == nil {
		n.moved(n.peers.found(nb, mac, changes))
	}
}

// tell hands an event on, unless too many wait already.
func (n *NIC) tell(e link.Event) {
	select {
	case n.events <- e:
	default:
	}
}

// gone is the error of a NIC whose interface was deleted.
func (n *NIC) gone() error {
	return fmt.Errorf("interface %s was deleted, or moved to another network namespace: close this link and open another", n.name)
}
