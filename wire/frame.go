package wire

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Frame is a received UDP datagram with the headers it came in.
type Frame struct {
	Headers
	Payload []byte // of UDP: BTH … ICRC if DstPort is [Port]; aliases the input
}

// What keeps bytes from being a RoCEv2 frame. They are values: receivers count them.
var (
	ErrTruncated = errors.New("wire: frame ends within its headers, or before the length they give")
	ErrNotIP     = errors.New("wire: frame is neither IPv4 nor IPv6, or tagged more than once")
	ErrNotUDP    = errors.New("wire: IP packet is not UDP")
	ErrOptions   = errors.New("wire: IPv4 header with options, or with an impossible length")
	ErrFragment  = errors.New("wire: IP fragment")
	ErrExtension = errors.New("wire: IPv6 extension header")
	ErrUDPLength = errors.New("wire: UDP length does not fit the IP packet")
)

// ParseFrame reads an Ethernet frame with at most one VLAN tag and without FCS. The
// UDP length says where the payload ends, so Ethernet's padding does not matter.
// Header checksums are not judged: the ICRC covers what they cover, and a frame
// that never left its host has none yet. ParseFrame never panics and never
// allocates; on error the frame is incomplete.
func ParseFrame(b []byte) (f Frame, err error) {
	if len(b) < EthernetLen {
		return f, ErrTruncated
	}
	f.DstMAC, f.SrcMAC = MAC(b), MAC(b[6:])
	etherType, b := binary.BigEndian.Uint16(b[12:]), b[EthernetLen:]
	if etherType == etherTypeVLAN {
		if len(b) < VLANLen {
			return f, ErrTruncated
		}
		f.VLAN, etherType, b = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), b[VLANLen:]
	}
	switch etherType {
	case etherTypeIPv4:
		err = f.parseIPv4(b)
	case etherTypeIPv6:
		err = f.parseIPv6(b)
	default:
		err = ErrNotIP
	}
	return f, err
}

// ParseIP is [ParseFrame] for bytes that start with the IP header.
func ParseIP(b []byte) (f Frame, err error) {
	if len(b) == 0 {
		return f, ErrTruncated
	}
	switch b[0] >> 4 {
	case 4:
		err = f.parseIPv4(b)
	case 6:
		err = f.parseIPv6(b)
	default:
		err = ErrNotIP
	}
	return f, err
}

const (
	moreFragments  = 0x2000
	fragmentOffset = 0x1fff
)

func (f *Frame) parseIPv4(b []byte) error {
	if len(b) < IPv4Len {
		return ErrTruncated
	}
	if b[0] != 0x45 {
		return ErrOptions
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < IPv4Len || total > len(b) {
		return ErrTruncated
	}
	f.TrafficClass, f.HopLimit = b[1], b[8]
	f.ID, f.Flags = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	f.Src, f.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if f.Flags&(moreFragments|fragmentOffset) != 0 {
		return ErrFragment
	}
	if b[9] != protocolUDP {
		return ErrNotUDP
	}
	return f.parseUDP(b[IPv4Len:total])
}

func (f *Frame) parseIPv6(b []byte) error {
	if len(b) < IPv6Len {
		return ErrTruncated
	}
	word := binary.BigEndian.Uint32(b)
	if word>>28 != 6 {
		return ErrNotIP
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if IPv6Len+n > len(b) {
		return ErrTruncated
	}
	f.TrafficClass, f.FlowLabel, f.HopLimit = uint8(word>>20), word&0xfffff, b[7]
	f.Src, f.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	if err := nextHeader(b[6]); err != nil {
		return err
	}
	return f.parseUDP(b[IPv6Len : IPv6Len+n])
}

// nextHeader judges the type of what follows an IPv6 header (RFC 8200, 4).
func nextHeader(n uint8) error {
	switch n {
	case protocolUDP:
		return nil
	case 44:
		return ErrFragment
	case 0, 43, 50, 51, 60, 135, 139, 140: // IANA: IPv6 extension header types
		return ErrExtension
	}
	return ErrNotUDP
}

func (f *Frame) parseUDP(b []byte) error {
	if len(b) < UDPLen {
		return ErrUDPLength
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n < UDPLen || n > len(b) {
		return ErrUDPLength
	}
	f.SrcPort, f.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	f.Checksum = binary.BigEndian.Uint16(b[6:])
	f.Payload = b[UDPLen:n]
	return nil
}
