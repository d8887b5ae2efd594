package auto

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rocinante-rdma/roce/internal/ethtool"
	"github.com/rocinante-rdma/roce/internal/hostnet"
)

// place is where a link is wanted.
type place struct {
	itf   *hostnet.Interface // never a member of a bond or bridge
	base  *hostnet.Interface // whose wire carries the frames: of a VLAN sub-interface the one below, else itf
	addrs []netip.Addr       // wanted; none: those there are
	gids  []hostnet.GID      // of addrs, or of the one that is the default

	detour string // why it is not the interface that was named, as the beginning of a sentence
	tagged bool   // an address is on a VLAN
	untags bool   // and base takes the tags off
}

// survey looks at the interface, and at the addresses.
func survey(ifname string, addrs []netip.Addr) (*place, error) {
	named, err := hostnet.ByName(ifname)
	if err != nil {
		return nil, err
	}
	all, err := hostnet.Interfaces()
	if err != nil {
		return nil, err
	}
	p := &place{itf: hostnet.OwnerOf(named, all), addrs: plain(addrs)}
	if p.itf != named {
		p.detour = fmt.Sprintf("%s belongs to %s, which has the addresses; ", named.Name, p.itf.Name)
	}
	p.base = cmp.Or(hostnet.Find(p.itf.Parent, all), p.itf)
	if err := p.findGIDs(); err != nil {
		return nil, err
	}
	p.tagged = slices.ContainsFunc(p.gids, func(g hostnet.GID) bool { return g.VLAN != 0 })
	p.untags = p.tagged && ethtool.StripsVLAN(p.base.Name)
	return p, nil
}

// plain are addresses without zone: the interface says which link-local ones are meant.
func plain(addrs []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		out[i] = a.Unmap().WithZone("")
	}
	return out
}

// findGIDs finds the GIDs of the wanted addresses, or the default one.
func (p *place) findGIDs() error {
	table, err := hostnet.GIDs(p.itf)
	if err != nil {
		return err
	}
	usable, err := hostnet.Usable(table)
	if err != nil {
		return err
	}
	if len(p.addrs) == 0 {
		p.gids = []hostnet.GID{hostnet.Preferred(usable)}
	}
	for _, a := range p.addrs {
		at := slices.IndexFunc(usable, func(g hostnet.GID) bool { return g.Addr == a })
		switch {
		case at >= 0:
			p.gids = append(p.gids, usable[at])
		case p.itf.Loopback && p.itf.Has(a): // listed or not
			p.gids = append(p.gids, hostnet.GID{Addr: a, Interface: p.itf.Name})
		default:
			return fmt.Errorf("%s has no usable address %v; it has %s", p.itf.Name, a, list(usable))
		}
	}
	return nil
}

func list(gids []hostnet.GID) []netip.Addr {
	addrs := make([]netip.Addr, len(gids))
	for i, g := range gids {
		addrs[i] = g.Addr
	}
	return addrs
}
