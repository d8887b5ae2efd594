package wire

import "net/netip"

// DefaultHopLimit is what kernels send for RoCEv2.
const DefaultHopLimit = 64

// Path is everything needed to address one peer: it is built once per connection
// and then only read, except by its link, which may replace it by a new one when a
// neighbour moves. Src and Dst are of one address family; IPv4 addresses are
// 4-byte (never mapped).
//
// The builder sets the fields, has the link resolve the path (which may set MACs and
// the port), calls [Path.Prepare], and may then share it: from there on the path is
// safe for concurrent use. A copy stays prepared.
type Path struct {
	Src, Dst     netip.Addr
	SrcPort      uint16 // constant per QP, so that a flow keeps its ECMP path
	TrafficClass uint8  // IPv4 TOS or IPv6 traffic class: DSCP and ECN
	HopLimit     uint8  // IPv4 TTL or IPv6 hop limit; 0 means 64
	SrcMAC       MAC    // links below IP
	DstMAC       MAC
	// VLAN is the 802.1Q tag control information, 0: untagged. The builder sets the
	// priority bits; a link that writes tags adds the VLAN ID of Src, which is 0 where
	// Src is on no VLAN.
	VLAN uint16

	// Link is the link's own prepared form (a socket address, a frame template);
	// only the link that made it looks inside.
	Link any

	icrc Flow
}

// Prepare computes what [Path.Seal] needs. Call it again if Src, Dst or SrcPort
// change.
func (p *Path) Prepare() { p.icrc = MakeFlow(p.Src, p.Dst, p.SrcPort, DontFragment) }

// Seal zeroes the pad of a packet and writes its ICRC: see [Flow.Seal]. It is the
// one place where packets for the wire are sealed. It panics if the path was not
// prepared.
func (p *Path) Seal(id uint16, head []byte, body [][]byte, tail []byte) {
	p.icrc.Seal(id, head, body, tail)
}
