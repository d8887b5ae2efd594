package wire

import (
	"encoding/binary"
	"net/netip"
)

const (
	// ICRCLen is the length of the invariant CRC behind the pad, in bytes.
	ICRCLen = 4
	// DontFragment is the IPv4 flags word of every RoCEv2 packet.
	DontFragment = 0x4000

	bthLen = 12
	// minPacket is the shortest UDP payload that can hold a packet.
	minPacket = bthLen + ICRCLen
	// maxPacket is the longest UDP payload that the IPv4 length field allows.
	maxPacket = 0xffff - IPv4Len - UDPLen
)

// Flow computes the invariant CRC (ICRC) of the packets of one flow: one pair of
// addresses, one source port, one IPv4 flags word.
//
// The ICRC covers a pseudo header and the packet from the BTH to the pad (IBTA
// annex A17). The pseudo header is eight bytes of ones, then IP and UDP header
// with ones for what routers change: IPv4 TOS, TTL and checksum, IPv6 traffic
// class, flow label and hop limit, the UDP checksum; in the BTH the byte of FECN,
// BECN and reserved bits counts as ones. All else counts, the IPv4 identification
// too.
//
// A Flow is a small value, valid for ever and safe for concurrent use. The zero
// Flow is not usable. No method allocates.
type Flow struct {
	base   uint32 // CRC of the pseudo header with lengths and identification 0
	family family
}

type family uint8

const (
	unprepared family = iota
	ipv4
	ipv6
)

// MakeFlow prepares a flow. Addresses of IPv4 must be 4-byte (never mapped).
// flags is the IPv4 flags and fragment offset word as on the wire, nearly always
// [DontFragment]; IPv6 has none and ignores it.
func MakeFlow(src, dst netip.Addr, srcPort, flags uint16) Flow {
	if src.Is4() && dst.Is4() {
		return Flow{basev4(src, dst, srcPort, flags), ipv4}
	}
	return Flow{basev6(src, dst, srcPort), ipv6}
}

func basev4(src, dst netip.Addr, srcPort, flags uint16) uint32 {
	h := [IPv4Len + UDPLen]byte{0: 0x45, 1: 0xff, 8: 0xff, 9: protocolUDP, 10: 0xff, 11: 0xff}
	binary.BigEndian.PutUint16(h[6:], flags)
	s, d := src.As4(), dst.As4()
	copy(h[12:], s[:])
	copy(h[16:], d[:])
	putMaskedUDP(h[IPv4Len:], srcPort)
	return crcShort(afterOnes, h[:])
}

func basev6(src, dst netip.Addr, srcPort uint16) uint32 {
	h := [IPv6Len + UDPLen]byte{0: 0x6f, 1: 0xff, 2: 0xff, 3: 0xff, 6: protocolUDP, 7: 0xff}
	s, d := src.As16(), dst.As16()
	copy(h[8:], s[:])
	copy(h[24:], d[:])
	putMaskedUDP(h[IPv6Len:], srcPort)
	return crcShort(afterOnes, h[:])
}

func putMaskedUDP(h []byte, srcPort uint16) {
	binary.BigEndian.PutUint16(h, srcPort)
	binary.BigEndian.PutUint16(h[2:], Port)
	binary.BigEndian.PutUint16(h[6:], 0xffff)
}

// Bytes of the pseudo header that follow its variable fields, for the byte tables.
var (
	totalHigh, totalLow     = distanceTable(25), distanceTable(24) // IPv4 total length
	idHigh, idLow           = distanceTable(23), distanceTable(22) // IPv4 identification
	payloadHigh, payloadLow = distanceTable(43), distanceTable(42) // IPv6 payload length
	udpHigh, udpLow         = &following[3], &following[2]         // UDP length
)

// start is the CRC of the pseudo header of a packet of n bytes, BTH to ICRC.
func (f Flow) start(n int, id uint16) uint32 {
	udp := UDPLen + n
	c := f.base ^ udpHigh[udp>>8&0xff] ^ udpLow[udp&0xff]
	if f.family == ipv6 {
		return c ^ payloadHigh[udp>>8&0xff] ^ payloadLow[udp&0xff]
	}
	total := IPv4Len + udp
	return c ^ totalHigh[total>>8&0xff] ^ totalLow[total&0xff] ^ idHigh[id>>8] ^ idLow[id&0xff]
}

// crcBTH takes in a BTH with ones for the byte of FECN, BECN and reserved bits.
func crcBTH(c uint32, b []byte) uint32 {
	b = b[:bthLen]
	c = crcWord(c, binary.LittleEndian.Uint32(b))
	c = crcWord(c, binary.LittleEndian.Uint32(b[4:])|0xff)
	return crcWord(c, binary.LittleEndian.Uint32(b[8:]))
}

// Seal completes a packet: it zeroes the pad and writes the ICRC behind it, low
// byte first. head is BTH and extension headers, body the payload in pieces, tail
// the pad (0–3 bytes) and four bytes for the ICRC. id is the IPv4 identification
// that the packet will carry; IPv6 ignores it.
func (f Flow) Seal(id uint16, head []byte, body [][]byte, tail []byte) {
	if f.family == unprepared {
		panic("wire: packet sealed for a path without Prepare")
	}
	n := len(head) + len(tail)
	for _, b := range body {
		n += len(b)
	}
	c := crcShort(crcBTH(f.start(n, id), head), head[bthLen:])
	for _, b := range body {
		c = crcLong(c, b)
	}
	pad, icrc := tail[:len(tail)-ICRCLen], tail[len(tail)-ICRCLen:]
	clear(pad)
	binary.LittleEndian.PutUint32(icrc, crcShort(c, pad))
}

// Verify reports whether the ICRC of a received packet is right. packet holds BTH
// to ICRC in one or two pieces; the BTH must lie in the first, anything else may
// straddle. id is the IPv4 identification; IPv6 ignores it.
func (f Flow) Verify(id uint16, packet [2][]byte) bool {
	c, ok := f.whole(id, packet)
	return ok && c == residue
}

// StripICRC cuts the ICRC off a packet that lies in one or two pieces; ok is false
// if it is shorter than an ICRC.
func StripICRC(packet [2][]byte) (rest [2][]byte, ok bool) {
	a, b := packet[0], packet[1]
	if n := len(b) - ICRCLen; n >= 0 {
		return [2][]byte{a, b[:n]}, true
	}
	n := len(a) + len(b) - ICRCLen
	if n < 0 {
		return rest, false
	}
	return [2][]byte{a[:n]}, true
}

// whole is the CRC of pseudo header and packet, the ICRC included: residue if that
// is right. ok is false if the lengths cannot be those of a packet.
func (f Flow) whole(id uint16, packet [2][]byte) (c uint32, ok bool) {
	a, b := packet[0], packet[1]
	n := len(a) + len(b)
	if len(a) < bthLen || n < minPacket || n > maxPacket {
		return 0, false
	}
	c = crcLong(crcBTH(f.start(n, id), a), a[bthLen:])
	if len(b) > 0 {
		c = crcLong(c, b)
	}
	return c, true
}

// SolveID finds the IPv4 identification with which the ICRC of a packet is right,
// for receivers that cannot see it (kernel UDP sockets). There is exactly one or
// none: the identification is 16 of the bits that the 32-bit CRC covers. Therefore
// one corrupted packet in 65 536 has a solution too, unless the caller knows which
// identification to expect: id == hint is as strong as [Flow.Verify], and fast.
//
// IPv6 has no identification: id is 0 and ok the result of Verify.
func (f Flow) SolveID(hint uint16, packet [2][]byte) (id uint16, ok bool) {
	if f.family == ipv6 {
		return 0, f.Verify(0, packet)
	}
	c, ok := f.whole(hint, packet)
	if !ok || c == residue {
		return hint, ok
	}
	difference := rewind(c^residue, behindID+len(packet[0])+len(packet[1]))
	if difference > 0xffff {
		return 0, false
	}
	return hint ^ (uint16(difference)<<8 | uint16(difference)>>8), true
}

// behindID is the length of IPv4 identification, the rest of that header, and UDP
// header: from where the identification enters the CRC to the BTH.
const behindID = IPv4Len - 4 + UDPLen

// VerifyICRC is [Flow.Verify] for a single packet of a flow not seen before.
func VerifyICRC(src, dst netip.Addr, srcPort, flags, id uint16, packet [2][]byte) bool {
	return MakeFlow(src, dst, srcPort, flags).Verify(id, packet)
}
