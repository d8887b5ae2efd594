package devices

import (
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Device is a network interface, seen as an RDMA device with one port.
type Device struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	State string `json:"state"` // ACTIVE or DOWN
	MAC   string `json:"mac,omitempty"`
	GUID  string `json:"node_guid"`

	MTU     int      `json:"mtu"`              // of the interface, bytes of an IP packet
	PathMTU int      `json:"path_mtu"`         // the largest that fits, payload bytes; 0: none
	Larger  *PathMTU `json:"larger,omitempty"` // the next, and what it takes

	Kind     string `json:"kind"`
	Driver   string `json:"driver,omitempty"`
	RxQueues int    `json:"rx_queues"`
	TxQueues int    `json:"tx_queues"`
	VLAN     uint16 `json:"vlan,omitempty"`

	GIDs  []GID  `json:"gids"`
	Links []Link `json:"links"`
}

// PathMTU is a path MTU and the MTU that an interface needs for it.
type PathMTU struct {
	Payload int `json:"path_mtu"`
	Needs   int `json:"needs_mtu"`
}

// GID is an entry of the device's GID table.
type GID struct {
	Index     int    `json:"index"`
	GID       string `json:"gid"`     // as the verbs' tools show it
	Address   string `json:"address"` // as one gives it to --addr
	Type      string `json:"type"`
	Interface string `json:"interface"`
	VLAN      uint16 `json:"vlan,omitempty"`
	Problem   string `json:"problem,omitempty"`

	addr netip.Addr // with zone
}

// Verdict is what is known of a link on a device.
type Verdict string

// Verdicts.
const (
	Works   Verdict = "works"
	Fails   Verdict = "fails"
	Untried Verdict = "untried" // nothing speaks against it
)

// Link is a kind of link on a device.
type Link struct {
	Name    string  `json:"name"`          // as --link takes it
	Way     string  `json:"way,omitempty"` // of setting it up, if there are several
	Verdict Verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"` // why not and what to do, or what to know
}

// List describes the interfaces of those names, or all if there are none.
func List(names ...string) ([]Device, error) {
	h, err := hostnet.NewHandle()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	interfaces, err := find(h, names)
	if err != nil {
		return nil, err
	}
	list := make([]Device, len(interfaces))
	for n := range interfaces {
		if list[n], err = describe(h, &interfaces[n]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func find(h *hostnet.Handle, names []string) ([]hostnet.Interface, error) {
	if len(names) == 0 {
		return h.Interfaces()
	}
	var list []hostnet.Interface
	for _, name := range names {
		i, err := h.ByName(name)
		if err != nil {
			return nil, err
		}
		list = append(list, *i)
	}
	return list, nil
}

func describe(h *hostnet.Handle, i *hostnet.Interface) (Device, error) {
	table, err := h.GIDs(i)
	if err != nil {
		return Device{}, err
	}
	d := Device{
		Name: i.Name, Index: i.Index, State: link.Down.String(), GUID: guid(i.MAC),
		MTU: i.MTU, PathMTU: link.PathMTU(i.MTU), Larger: larger(i.MTU),
		Kind: i.Kind, Driver: i.Driver, RxQueues: i.RxQueues, TxQueues: i.TxQueues, VLAN: i.VLAN,
	}
	if i.Up {
		d.State = link.Active.String()
	}
	if i.MAC != (wire.MAC{}) {
		d.MAC = i.MAC.String()
	}
	for _, g := range table {
		d.GIDs = append(d.GIDs, describeGID(g))
	}
	d.Links = tryLinks(i, table)
	return d, nil
}

func describeGID(g hostnet.GID) GID {
	typ := "RoCE v2, IPv4"
	switch {
	case g.Addr.Is6() && g.Addr.IsLinkLocalUnicast():
		typ = "RoCE v2, IPv6 link-local"
	case g.Addr.Is6():
		typ = "RoCE v2, IPv6"
	}
	return GID{
		Index: g.Index, GID: verbsText(g.Addr), Address: g.Zoned().String(), Type: typ,
		Interface: g.Interface, VLAN: g.VLAN, Problem: g.Problem, addr: g.Zoned(),
	}
}

// verbsText shows a GID as an IPv6 address, IPv4 as ::ffff:a.b.c.d.
func verbsText(a netip.Addr) string { return netip.AddrFrom16(a.As16()).String() }

// guid makes a node GUID of a MAC (EUI-64), as the kernel's rdma_rxe does.
func guid(m wire.MAC) string {
	return fmt.Sprintf("%02x%02x:%02xff:fe%02x:%02x%02x", m[0]^2, m[1], m[2], m[3], m[4], m[5])
}

// larger returns the smallest path MTU that does not fit a link MTU; nil: all fit.
func larger(linkMTU int) *PathMTU {
	for needs := linkMTU + 1; needs <= 2*link.MaxPayload; needs++ {
		if p := link.PathMTU(needs); p > link.PathMTU(linkMTU) {
			return &PathMTU{p, needs}
		}
	}
	return nil
}
