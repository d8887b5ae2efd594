package pingpong

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// LocalAddr returns the address that options -d and -g of the tool choose: an
// interface by its name ("": the first that is up and is not the loopback), and of
// its GID table the entry of the index, or by default (-1) the first IPv4 address,
// else the first global IPv6 address, else the link-local one.
func LocalAddr(device string, index int) (netip.Addr, error) {
	itf, err := findInterface(device)
	if err != nil {
		return netip.Addr{}, err
	}
	table, err := gidTable(itf)
	if err != nil {
		return netip.Addr{}, err
	}
	switch {
	case len(table) == 0:
		return netip.Addr{}, fmt.Errorf("interface %s has no IP address, so it has no GID", itf.Name)
	case index < 0:
		return preferred(table), nil
	case index >= len(table):
		return netip.Addr{}, fmt.Errorf("interface %s has no GID %d; it has%s", itf.Name, index, list(table))
	}
	return table[index], nil
}

func findInterface(name string) (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	names := make([]string, len(all))
	for i := range all {
		itf := &all[i]
		names[i] = itf.Name
		if itf.Name == name || name == "" && itf.Flags&net.FlagUp != 0 && itf.Flags&net.FlagLoopback == 0 {
			return itf, nil
		}
	}
	if name == "" {
		return nil, errors.New("no network interface is up but the loopback; name one with -d, or give an address with --addr")
	}
	return nil, fmt.Errorf("no network interface %q: roci's devices are the network interfaces, here %s", name, strings.Join(names, ", "))
}

// gidTable returns the addresses of an interface that can be GIDs.
func gidTable(itf *net.Interface) ([]netip.Addr, error) {
	all, err := itf.Addrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %s: %w", itf.Name, err)
	}
	var table []netip.Addr
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue // not an IP address
		}
		addr := p.Addr().Unmap()
		if addr.Is6() && addr.IsLinkLocalUnicast() {
			addr = addr.WithZone(itf.Name)
		}
		table = append(table, addr)
	}
	return inGIDOrder(table), nil
}

// inGIDOrder brings addresses, in the order in which the system lists them, into
// that of the kernel's GID table: index 0 is the link-local IPv6 address, then
// follow IPv4, then the other IPv6 addresses. The kernel has an index 0 also where
// the interface lacks that address, which then does not work; here it is left out.
func inGIDOrder(addrs []netip.Addr) []netip.Addr {
	first := slices.IndexFunc(addrs, isLinkLocal6)
	rank := func(i int) int {
		switch {
		case i == first:
			return 0
		case addrs[i].Is4():
			return 1
		default:
			return 2
		}
	}
	var table []netip.Addr
	for want := range 3 {
		for i, a := range addrs {
			if rank(i) == want {
				table = append(table, a)
			}
		}
	}
	return table
}

func isLinkLocal6(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }

// preferred is the table's default entry.
func preferred(table []netip.Addr) netip.Addr {
	if i := slices.IndexFunc(table, netip.Addr.Is4); i >= 0 {
		return table[i]
	}
	if i := slices.IndexFunc(table, netip.Addr.IsGlobalUnicast); i >= 0 {
		return table[i]
	}
	return table[0]
}

// list shows a GID table in one line.
func list(table []netip.Addr) string {
	var b strings.Builder
	for i, a := range table {
		fmt.Fprintf(&b, " %d: %v", i, a)
	}
	return b.String()
}
