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

// ParseFrame reads an Ethernet frame with at most one VLAN tag and without FCS: see
// [ParseHeaders]. The UDP length says where the payload ends, so Ethernet's padding
// does not matter. On error the frame is incomplete.
func ParseFrame(b []byte) (Frame, error) {
	h, payload, n, err := ParseHeaders(b, len(b))
	return frame(b, h, payload, n, err)
}

// ParseIP is [ParseFrame] for bytes that start with the IP header.
func ParseIP(b []byte) (Frame, error) {
	if len(b) == 0 {
		return Frame{}, ErrTruncated
	}
	var h Headers
	var payload, n int
	err := ErrNotIP
	switch b[0] >> 4 {
	case 4:
		payload, n, err = h.parseIPv4(b, len(b))
	case 6:
		payload, n, err = h.parseIPv6(b, len(b))
	}
	return frame(b, h, payload, n, err)
}

func frame(b []byte, h Headers, payload, n int, err error) (Frame, error) {
	if err != nil {
		return Frame{Headers: h}, err
	}
	return Frame{h, b[payload : payload+n]}, nil
}

// ParseHeaders reads the headers of an Ethernet frame of total bytes that begins
// with b: for receivers that have a frame in pieces, of which the first holds all
// headers. The UDP payload is the n bytes from payload on.
//
// Header checksums are not judged: the ICRC covers what they cover, and a frame
// that never left its host has none yet. ParseHeaders never panics and never
// allocates; on error the headers are incomplete.
func ParseHeaders(b []byte, total int) (h Headers, payload, n int, err error) {
	if len(b) < EthernetLen {
		return h, 0, 0, ErrTruncated
	}
	h.DstMAC, h.SrcMAC = MAC(b), MAC(b[6:])
	etherType, at := binary.BigEndian.Uint16(b[12:]), EthernetLen
	if etherType == etherTypeVLAN {
		if len(b) < EthernetLen+VLANLen {
			return h, 0, 0, ErrTruncated
		}
		h.VLAN, etherType, at = binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[16:]), at+VLANLen
	}
	switch etherType {
	case etherTypeIPv4:
		payload, n, err = h.parseIPv4(b[at:], total-at)
	case etherTypeIPv6:
		payload, n, err = h.parseIPv6(b[at:], total-at)
	default:
		err = ErrNotIP
	}
	return h, at + payload, n, err
}

const (
	moreFragments  = 0x2000
	fragmentOffset = 0x1fff
)

// parseIPv4 reads an IP packet of size bytes that begins with b, as does parseIPv6.
func (h *Headers) parseIPv4(b []byte, size int) (payload, n int, err error) {
	if len(b) < IPv4Len {
		return 0, 0, ErrTruncated
	}
	if b[0] != 0x45 {
		return 0, 0, ErrOptions
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < IPv4Len || total > size {
		return 0, 0, ErrTruncated
	}
	h.TrafficClass, h.HopLimit = b[1], b[8]
	h.ID, h.Flags = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	h.Src, h.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if h.Flags&(moreFragments|fragmentOffset) != 0 {
		return 0, 0, ErrFragment
	}
	if b[9] != protocolUDP {
		return 0, 0, ErrNotUDP
	}
	n, err = h.parseUDP(b[IPv4Len:], total-IPv4Len)
	return IPv4Len + UDPLen, n, err
}

func (h *Headers) parseIPv6(b []byte, size int) (payload, n int, err error) {
	if len(b) < IPv6Len {
		return 0, 0, ErrTruncated
	}
	word := binary.BigEndian.Uint32(b)
	if word>>28 != 6 {
		return 0, 0, ErrNotIP
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if IPv6Len+length > size {
		return 0, 0, ErrTruncated
	}
	h.TrafficClass, h.FlowLabel, h.HopLimit = uint8(word>>20), word&0xfffff, b[7]
	h.Src, h.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	if err := nextHeader(b[6]); err != nil {
		return 0, 0, err
	}
	n, err = h.parseUDP(b[IPv6Len:], length)
	return IPv6Len + UDPLen, n, err
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

// parseUDP reads the header of a datagram of which the IP packet holds size bytes,
// and returns the length of its payload.
func (h *Headers) parseUDP(b []byte, size int) (n int, err error) {
	if size < UDPLen {
		return 0, ErrUDPLength
	}
	if len(b) < UDPLen {
		return 0, ErrTruncated
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length < UDPLen || length > size {
		return 0, ErrUDPLength
	}
	h.SrcPort, h.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	h.Checksum = binary.BigEndian.Uint16(b[6:])
	return length - UDPLen, nil
}
