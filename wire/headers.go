package wire

import (
	"encoding/binary"
	"net/netip"
)

// Lengths of the IP and UDP headers in bytes.
const (
	IPv4Len = 20 // without options, which RoCEv2 does not use
	IPv6Len = 40
	UDPLen  = 8
	// MaxHeadersLen is the longest header chain: Ethernet, VLAN, IPv6, UDP.
	MaxHeadersLen = EthernetLen + VLANLen + IPv6Len + UDPLen
)

const protocolUDP = 17

// Headers is what lies in front of a packet: Ethernet, IP and UDP. Src and Dst are
// of one family. Host byte order.
type Headers struct {
	SrcMAC, DstMAC   MAC
	VLAN             uint16 // 802.1Q tag control information, 0: untagged
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	TrafficClass     uint8  // IPv4 TOS or IPv6 traffic class
	HopLimit         uint8  // IPv4 TTL or IPv6 hop limit
	ID               uint16 // IPv4 identification
	Flags            uint16 // IPv4 flags and fragment offset
	FlowLabel        uint32 // IPv6, 20 bits
	Checksum         uint16 // of UDP; 0: none
}

// Headers returns what a packet on the path carries: [Port], DF, no UDP checksum.
func (p *Path) Headers(id uint16) Headers {
	h := Headers{
		SrcMAC: p.SrcMAC, DstMAC: p.DstMAC, VLAN: p.VLAN,
		Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort, DstPort: Port,
		TrafficClass: p.TrafficClass, HopLimit: p.HopLimit,
	}
	if h.HopLimit == 0 {
		h.HopLimit = DefaultHopLimit
	}
	if h.Src.Is4() {
		h.ID, h.Flags = id, DontFragment
	}
	return h
}

// AppendFrame appends Ethernet, IP and UDP headers for a UDP payload of n bytes.
func (h *Headers) AppendFrame(b []byte, n int) []byte {
	return h.AppendIP(h.appendEthernet(b), n)
}

// AppendIP appends IP and UDP headers for a UDP payload of n bytes. The IPv4 header
// checksum is computed, the UDP checksum is taken as it is.
func (h *Headers) AppendIP(b []byte, n int) []byte {
	if h.Src.Is4() {
		b = h.appendIPv4(b, UDPLen+n)
	} else {
		b = h.appendIPv6(b, UDPLen+n)
	}
	b = binary.BigEndian.AppendUint16(b, h.SrcPort)
	b = binary.BigEndian.AppendUint16(b, h.DstPort)
	b = binary.BigEndian.AppendUint16(b, uint16(UDPLen+n))
	return binary.BigEndian.AppendUint16(b, h.Checksum)
}

func (h *Headers) appendEthernet(b []byte) []byte {
	b = append(append(b, h.DstMAC[:]...), h.SrcMAC[:]...)
	if h.VLAN != 0 {
		b = binary.BigEndian.AppendUint16(b, etherTypeVLAN)
		b = binary.BigEndian.AppendUint16(b, h.VLAN)
	}
	if h.Src.Is4() {
		return binary.BigEndian.AppendUint16(b, etherTypeIPv4)
	}
	return binary.BigEndian.AppendUint16(b, etherTypeIPv6)
}

// appendIPv4 appends a header without options (RFC 791, 3.1).
func (h *Headers) appendIPv4(b []byte, n int) []byte {
	start := len(b)
	b = append(b, 0x45, h.TrafficClass)
	b = binary.BigEndian.AppendUint16(b, uint16(IPv4Len+n))
	b = binary.BigEndian.AppendUint16(b, h.ID)
	b = binary.BigEndian.AppendUint16(b, h.Flags)
	b = append(b, h.HopLimit, protocolUDP, 0, 0)
	src, dst := h.Src.As4(), h.Dst.As4()
	b = append(append(b, src[:]...), dst[:]...)
	binary.BigEndian.PutUint16(b[start+10:], ^fold(onesSum(0, b[start:])))
	return b
}

// appendIPv6 appends a header without extensions (RFC 8200, 3).
func (h *Headers) appendIPv6(b []byte, n int) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = append(b, protocolUDP, h.HopLimit)
	src, dst := h.Src.As16(), h.Dst.As16()
	return append(append(b, src[:]...), dst[:]...)
}
