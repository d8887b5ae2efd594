package hostnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/wire"
)

// Interface is a network interface as it was when it was read.
type Interface struct {
	Name     string
	Index    int
	MTU      int      // bytes of an IP packet
	MAC      wire.MAC // zero: it has none
	Up       bool     // administratively up, and the lower layer can send
	Loopback bool

	Kind   string // "veth", "vlan", "bond", "bridge" …; "device" where there is hardware
	Driver string // as ethtool names it, for instance "virtio_net"; "": it does not say

	Parent int    // of a VLAN sub-interface: index of the interface it lies on, 0: none
	VLAN   uint16 // of a VLAN sub-interface: its VLAN ID
	Master int    // index of the bond or bridge it belongs to, 0: none

	RxQueues, TxQueues int

	XDPProgram int // kernel's ID of the XDP program that is attached, 0: none

	// Addrs are the addresses in the kernel's order, unmapped and without zone. IPv6
	// addresses that are still being checked for duplicates, or are duplicates, are
	// left out.
	Addrs []netip.Prefix
}

// Has reports whether the interface has an address. The loopback interface has all of
// 127.0.0.0/8, listed or not.
func (i *Interface) Has(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return i.Loopback && addr.Is4() && addr.IsLoopback() || slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return p.Addr() == addr })
}

// ByName returns an interface by its name; the error for an unknown name lists those
// that there are.
func (h *Handle) ByName(name string) (*Interface, error) {
	all, err := h.Interfaces()
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(all, func(i Interface) bool { return i.Name == name }); at >= 0 {
		return &all[at], nil
	}
	return nil, fmt.Errorf("no network interface %q; there are %s", name, names(all))
}

// ByAddr returns the interface that has an address. A link-local IPv6 address that
// several interfaces have needs its zone, the name of one.
func (h *Handle) ByAddr(addr netip.Addr) (*Interface, error) {
	all, err := h.Interfaces()
	if err != nil {
		return nil, err
	}
	return byAddr(all, addr)
}

func byAddr(all []Interface, addr netip.Addr) (*Interface, error) {
	var have []Interface
	for _, i := range all {
		if i.Has(addr) && (addr.Zone() == "" || addr.Zone() == i.Name) {
			have = append(have, i)
		}
	}
	switch {
	case len(have) == 0:
		return nil, fmt.Errorf("no network interface has the address %v; there are%s", addr, addresses(all))
	case len(have) > 1 && addr.IsLinkLocalUnicast():
		return nil, fmt.Errorf("%s all have the address %v; say which with a zone: %v%%%s", names(have), addr, addr, have[0].Name)
	}
	return &have[0], nil
}

// Find returns that of all interfaces which has an index; nil: there is none.
func Find(index int, all []Interface) *Interface {
	at := slices.IndexFunc(all, func(i Interface) bool { return i.Index == index })
	if at < 0 {
		return nil
	}
	return &all[at]
}

// OwnerOf is that of all interfaces which has the addresses that packets through one
// of them are for: the bond or bridge, of bonds and bridges, to which it belongs in
// the end, or it itself.
func OwnerOf(i *Interface, all []Interface) *Interface {
	for range all { // masters cannot form a ring; a table read while it changes might
		master := Find(i.Master, all)
		if master == nil {
			break
		}
		i = master
	}
	return i
}

func names(all []Interface) string {
	list := make([]string, len(all))
	for n, i := range all {
		list[n] = i.Name
	}
	return strings.Join(list, ", ")
}

// addresses shows which interface has which addresses, in one line.
func addresses(all []Interface) string {
	var b strings.Builder
	for _, i := range all {
		for _, p := range i.Addrs {
			fmt.Fprintf(&b, " %v (%s)", p.Addr(), i.Name)
		}
	}
	if b.Len() == 0 {
		return " none"
	}
	return b.String()
}
