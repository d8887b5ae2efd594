package wire

import "net/netip"

// Port is the UDP destination port of RoCEv2 (IANA roce).
const Port = 4791

// MAC is an Ethernet address.
type MAC [6]byte

// Path is everything needed to address one peer: it is built once per connection
// and then only read, except by its link, which may replace it by a new one when a
// neighbour moves. Src and Dst are of one address family; IPv4 addresses are
// 4-byte (never mapped).
type Path struct {
	Src, Dst     netip.Addr
	SrcPort      uint16 // constant per QP, so that a flow keeps its ECMP path
	TrafficClass uint8  // IPv4 TOS or IPv6 traffic class: DSCP and ECN
	HopLimit     uint8  // IPv4 TTL or IPv6 hop limit; 0 means 64
	SrcMAC       MAC    // links below IP
	DstMAC       MAC
	VLAN         uint16 // 802.1Q tag control information, 0: untagged

	// Link is the link's own prepared form (a socket address, a frame template);
	// only the link that made it looks inside.
	Link any

	prefix prefixCRC
}

// DefaultHopLimit is what kernels send for RoCEv2.
const DefaultHopLimit = 64
