package hostnet

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/wire"
)

// GID is an entry of an interface's GID table.
type GID struct {
	Index     int
	Addr      netip.Addr // IPv4 stands for ::ffff:a.b.c.d; without zone
	Interface string     // the interface that has, or would have, the address
	IfIndex   int
	VLAN      uint16 // of Interface, 0: untagged
	Problem   string // why packets cannot use the address; "": they can
}

// Zoned returns the address as sockets want it: a link-local one with its zone.
func (g GID) Zoned() netip.Addr {
	if g.Addr.Is6() && g.Addr.IsLinkLocalUnicast() {
		return g.Addr.WithZone(g.Interface)
	}
	return g.Addr
}

// GIDs returns the GID table of an interface, as the kernel fills that of a device
// with RoCE v2 only when the device is made (drivers/infiniband/core/roce_gid_mgmt.c):
//
//   - index 0 is the link-local address made from the MAC, also where the interface
//     does not have it; then its Problem says so
//   - then follow the interface's IPv4 addresses, and its other IPv6 addresses
//   - then, alike, those of the VLAN sub-interfaces that lie on it
//
// An interface that belongs to a bond or bridge has the table of that master, and all
// entries have a Problem: packets to them need not come through this interface. (The
// kernel's table also depends on history: an address that comes later takes the first
// free index.)
func (h *Handle) GIDs(i *Interface) ([]GID, error) {
	all, err := h.Interfaces()
	if err != nil {
		return nil, err
	}
	now := Find(i.Index, all)
	if now == nil {
		return nil, fmt.Errorf("network interface %s is gone; there are %s", i.Name, names(all))
	}
	return gidTable(now, all), nil
}

// Usable returns the entries of a table that packets can use. If there are none the
// error says what each lacks.
func Usable(table []GID) ([]GID, error) {
	var usable []GID
	for _, g := range table {
		if g.Problem == "" {
			usable = append(usable, g)
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("no usable GID: " + problems(table))
	}
	return usable, nil
}

// Preferred is the entry to take where none was chosen, of a table that is not empty:
// the first IPv4 address, else the first global IPv6 address, else the first.
func Preferred(usable []GID) GID {
	for _, good := range []func(netip.Addr) bool{netip.Addr.Is4, netip.Addr.IsGlobalUnicast} {
		if at := slices.IndexFunc(usable, func(g GID) bool { return good(g.Addr) }); at >= 0 {
			return usable[at]
		}
	}
	return usable[0]
}

// problems tells those of a table, one that all have only once.
func problems(table []GID) string {
	other := func(g GID) bool { return g.Problem != table[0].Problem }
	if !slices.ContainsFunc(table, other) {
		return table[0].Problem
	}
	list := make([]string, len(table))
	for n, g := range table {
		list[n] = fmt.Sprintf("GID %d, %v: %s", g.Index, g.Addr, g.Problem)
	}
	return strings.Join(list, "; ")
}

// gidTable is the table of one of all interfaces.
func gidTable(i *Interface, all []Interface) []GID {
	owner := OwnerOf(i, all)
	table := []GID{defaultGID(owner)}
	for _, g := range assigned(owner) {
		if g.Addr != table[0].Addr {
			table = append(table, g)
		}
	}
	for n := range all {
		if sub := &all[n]; sub.VLAN != 0 && sub.Parent == owner.Index && sub.Master == 0 {
			table = append(table, assigned(sub)...)
		}
	}
	for n := range table {
		table[n].Index = n
		if owner != i {
			table[n].Problem = fmt.Sprintf("%s belongs to %s, which has the addresses: use %s", i.Name, owner.Name, owner.Name)
		}
	}
	return table
}

// defaultGID is entry 0.
func defaultGID(i *Interface) GID {
	g := gidOf(i, linkLocal(i.MAC))
	hasIPv6 := slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() })
	switch {
	case i.Has(g.Addr):
	case !hasIPv6 && !i.Up:
		g.Problem = fmt.Sprintf("%s is down and has no IPv6 address: set it up (`ip link set dev %s up`)", i.Name, i.Name)
	case !hasIPv6:
		g.Problem = fmt.Sprintf("%s has no IPv6 address: IPv6 is disabled there (sysctl net.ipv6.conf.%s.disable_ipv6)", i.Name, i.Name)
	default:
		g.Problem = fmt.Sprintf("made from the MAC as the table wants it, but not an address of %s: choose another index", i.Name)
	}
	return g
}

// assigned are the entries of an interface's addresses: IPv4, then IPv6.
func assigned(i *Interface) []GID {
	table := make([]GID, len(i.Addrs))
	for n, p := range i.Addrs {
		table[n] = gidOf(i, p.Addr())
	}
	slices.SortStableFunc(table, func(a, b GID) int { return cmp.Compare(a.Addr.BitLen(), b.Addr.BitLen()) })
	return table
}

func gidOf(i *Interface, addr netip.Addr) GID {
	return GID{Addr: addr, Interface: i.Name, IfIndex: i.Index, VLAN: i.VLAN}
}

// linkLocal makes the link-local address of a MAC (RFC 4291, appendix A).
func linkLocal(m wire.MAC) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80,
		8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}
