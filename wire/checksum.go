package wire

import "encoding/binary"

// onesSum adds the 16-bit big-endian words of b to a ones' complement sum; an odd
// last byte counts as the high one (RFC 1071).
func onesSum(sum uint64, b []byte) uint64 {
	for len(b) >= 4 {
		sum, b = sum+uint64(binary.BigEndian.Uint32(b)), b[4:]
	}
	if len(b) >= 2 {
		sum, b = sum+uint64(binary.BigEndian.Uint16(b)), b[2:]
	}
	if len(b) > 0 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// fold reduces a sum to 16 bits.
func fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// PseudoSum is the folded sum over the pseudo header of a UDP datagram of n bytes,
// UDP header included: what a NIC that completes checksums expects to find in the
// checksum field. ip starts with an IPv4 or IPv6 header.
func PseudoSum(ip []byte, n int) uint16 { return fold(pseudoSum(ip, n)) }

func pseudoSum(ip []byte, n int) uint64 {
	addresses := ip[12:IPv4Len]
	if ip[0]>>4 == 6 {
		addresses = ip[8:IPv6Len]
	}
	return onesSum(uint64(protocolUDP+n), addresses)
}

// UDPChecksum is the checksum of a UDP datagram (RFC 768; RFC 8200, 8.1) for its
// header field, which must hold zero. ip is the header of the packet, udp the
// datagram in pieces of which all but the last have an even length. The result is
// never 0, which would mean "no checksum".
func UDPChecksum(ip []byte, udp ...[]byte) uint16 {
	n, sum := 0, uint64(0)
	for _, b := range udp {
		n, sum = n+len(b), onesSum(sum, b)
	}
	c := ^fold(sum + pseudoSum(ip, n))
	if c == 0 {
		return 0xffff
	}
	return c
}
