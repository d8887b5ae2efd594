package hostnet

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// Interfaces lists the network interfaces in the order of their indices.
func (h *Handle) Interfaces() ([]Interface, error) {
	links, err := dump("interfaces", h.nl.LinkList)
	if err != nil {
		return nil, err
	}
	addrs, err := h.addrs()
	if err != nil {
		return nil, err
	}
	all := make([]Interface, len(links))
	for n, l := range links {
		all[n] = describe(l)
		all[n].Driver = h.probe.driver(all[n].Name)
		all[n].Master = master(l, links)
		all[n].Addrs = addrs[all[n].Index]
	}
	slices.SortFunc(all, func(a, b Interface) int { return cmp.Compare(a.Index, b.Index) })
	return all, nil
}

// describe returns what the link's own attributes say.
func describe(l netlink.Link) Interface {
	a := l.Attrs()
	i := Interface{
		Name: a.Name, Index: a.Index, MTU: a.MTU, MAC: macOf(a.HardwareAddr),
		Up: isUp(a), Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0,
		Kind:     l.Type(),
		RxQueues: a.NumRxQueues, TxQueues: a.NumTxQueues,
	}
	if a.Xdp != nil && a.Xdp.Attached {
		i.XDPProgram = int(a.Xdp.ProgId)
	}
	// A parent in another namespace has an index of that namespace.
	if v, ok := l.(*netlink.Vlan); ok && a.NetNsID < 0 {
		i.Parent, i.VLAN = a.ParentIndex, uint16(v.VlanId)
	}
	return i
}

// isUp goes by the carrier. The operational state says the same up to a second later,
// and many interfaces do not tell it; but it knows of those that have a carrier and
// have to be let in first.
func isUp(a *netlink.LinkAttrs) bool {
	const flags = unix.IFF_UP | unix.IFF_LOWER_UP
	waits := a.OperState == netlink.OperDormant || a.OperState == netlink.OperTesting
	return a.RawFlags&flags == flags && !waits
}

// master is the bond, team or bridge a link belongs to. A VRF is a master too, but
// leaves the addresses with its members.
func master(l netlink.Link, links []netlink.Link) int {
	at := slices.IndexFunc(links, func(m netlink.Link) bool { return m.Attrs().Index == l.Attrs().MasterIndex })
	if at < 0 || links[at].Type() == "vrf" {
		return 0
	}
	return l.Attrs().MasterIndex
}

// macOf is zero for addresses that are not Ethernet's.
func macOf(hw []byte) (m wire.MAC) {
	if len(hw) == len(m) {
		copy(m[:], hw)
	}
	return m
}

// addrs returns the usable addresses of each interface.
func (h *Handle) addrs() (map[int][]netip.Prefix, error) {
	list, err := dump("addresses", func() ([]netlink.Addr, error) { return h.nl.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, err
	}
	of := make(map[int][]netip.Prefix)
	for _, a := range list {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok || a.Flags&unusableAddr != 0 {
			continue
		}
		bits, _ := a.Mask.Size()
		of[a.LinkIndex] = append(of[a.LinkIndex], netip.PrefixFrom(ip.Unmap(), bits))
	}
	return of, nil
}

// unusableAddr are the flags of IPv6 addresses that are not, or never will be, ours:
// being checked for duplicates, or found to be one. An optimistic one is in use while
// it is checked, but not by the tables of other hosts.
const unusableAddr = unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED
