package hostnet

import (
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// parseChange reads a message of the kernel (rtnetlink(7)); false: it is not about
// what a monitor watches.
func parseChange(m syscall.NetlinkMessage) (Change, bool) {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return parseLink(m)
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return parseAddr(m)
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		return parseNeighbour(m)
	}
	return Change{}, false
}

func parseLink(m syscall.NetlinkMessage) (Change, bool) {
	// A bridge tells of its ports in messages of another family, also of interfaces
	// that leave it as if they were deleted.
	if len(m.Data) < unix.SizeofIfInfomsg || m.Data[0] != unix.AF_UNSPEC {
		return Change{}, false
	}
	l, err := netlink.LinkDeserialize(nil, m.Data)
	if err != nil {
		return Change{}, false
	}
	if m.Header.Type == unix.RTM_DELLINK {
		return Change{Kind: LinkDeleted, IfIndex: l.Attrs().Index}, true
	}
	return linkChange(l), true
}

func linkChange(l netlink.Link) Change {
	a := l.Attrs()
	return Change{Kind: LinkChanged, IfIndex: a.Index, Up: isUp(a), MTU: a.MTU, MAC: macOf(a.HardwareAddr)}
}

func parseAddr(m syscall.NetlinkMessage) (Change, bool) {
	if len(m.Data) < unix.SizeofIfAddrmsg {
		return Change{}, false
	}
	head := nl.DeserializeIfAddrmsg(m.Data)
	attrs, err := nl.ParseRouteAttrAsMap(m.Data[head.Len():])
	if err != nil {
		return Change{}, false
	}
	// IPv4 has the own address in IFA_LOCAL and the peer's in IFA_ADDRESS where there
	// is one; IPv6 has the own one in IFA_ADDRESS unless there is a peer.
	own, ok := attrs[unix.IFA_LOCAL]
	if !ok {
		own = attrs[unix.IFA_ADDRESS]
	}
	addr, ok := netip.AddrFromSlice(own.Value)
	if !ok {
		return Change{}, false
	}
	flags := uint32(head.Flags)
	if wide, ok := attrs[unix.IFA_FLAGS]; ok && len(wide.Value) >= 4 {
		flags = nl.NativeEndian().Uint32(wide.Value)
	}
	c := Change{Kind: AddrAdded, IfIndex: int(head.Index), Addr: addr.Unmap()}
	if m.Header.Type == unix.RTM_DELADDR || flags&unusableAddr != 0 {
		c.Kind = AddrRemoved
	}
	return c, true
}

func parseNeighbour(m syscall.NetlinkMessage) (Change, bool) {
	if len(m.Data) < unix.SizeofNdMsg {
		return Change{}, false
	}
	n, err := netlink.NeighDeserialize(m.Data)
	if err != nil {
		return Change{}, false
	}
	if m.Header.Type == unix.RTM_DELNEIGH {
		n.State = unix.NUD_NONE
	}
	return neighbourChange(n)
}

// neighbourChange is false for entries of bridges, which map no IP address.
func neighbourChange(n *netlink.Neigh) (Change, bool) {
	addr, ok := netip.AddrFromSlice(n.IP)
	if !ok || n.Family != unix.AF_INET && n.Family != unix.AF_INET6 {
		return Change{}, false
	}
	c := Change{Kind: NeighbourLost, IfIndex: n.LinkIndex, Addr: addr.Unmap()}
	if n.State&valid != 0 {
		c.Kind, c.MAC = NeighbourChanged, macOf(n.HardwareAddr)
	}
	return c, true
}
