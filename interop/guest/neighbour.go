//go:build linux

package guest

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/rocinante-rdma/roce/wire"
)

const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherIPv6 = 0x86dd
	protoICM6 = 58
	icmpNS    = 135 // neighbour solicitation
	icmpNA    = 136 // neighbour advertisement
	arpLen    = 28
)

// etherType returns a frame's EtherType, 0 for none.
func etherType(f []byte) uint16 {
	if len(f) < wire.EthernetLen {
		return 0
	}
	return binary.BigEndian.Uint16(f[12:])
}

// answer returns the reply to an ARP request or a neighbour solicitation for
// one of the wire's addresses, or nil for any other frame. Called under w.mu.
func (w *Wire) answer(f []byte) []byte {
	switch etherType(f) {
	case etherARP:
		return w.answerARP(f)
	case etherIPv6:
		return w.answerNS(f)
	}
	return nil
}

// arpRequest is the fixed part of a request for an IPv4 address on Ethernet.
var arpRequest = []byte{0, 1, 8, 0, 6, 4, 0, 1}

func (w *Wire) answerARP(f []byte) []byte {
	if len(f) < wire.EthernetLen+arpLen || !bytes.Equal(f[14:22], arpRequest) {
		return nil
	}
	target := netip.AddrFrom4([4]byte(f[38:42]))
	if !slices.Contains(w.addrs, target) {
		return nil
	}
	sender, senderIP := f[22:28], f[28:32]
	r := append([]byte(nil), sender...)
	r = append(r, HostMAC...)
	r = binary.BigEndian.AppendUint16(r, etherARP)
	r = append(r, arpRequest[:7]...)
	r = append(r, 2) // reply
	r = append(r, HostMAC...)
	r = append(r, f[38:42]...)
	r = append(r, sender...)
	return append(r, senderIP...)
}

func (w *Wire) answerNS(f []byte) []byte {
	icmp := wire.EthernetLen + wire.IPv6Len
	if len(f) < icmp+24 || f[20] != protoICM6 || f[icmp] != icmpNS {
		return nil
	}
	src, target := netip.AddrFrom16([16]byte(f[22:38])), netip.AddrFrom16([16]byte(f[icmp+8:icmp+24]))
	// A solicitation from :: asks whether the guest's own address is taken.
	if src.IsUnspecified() || !slices.Contains(w.addrs, target) {
		return nil
	}
	adv := []byte{icmpNA, 0, 0, 0, 0x60, 0, 0, 0} // solicited, override
	adv = append(adv, target.AsSlice()...)
	adv = append(adv, 2, 1) // option: target link-layer address, 8 bytes
	adv = append(adv, HostMAC...)
	binary.BigEndian.PutUint16(adv[2:], icmp6Checksum(target, src, adv))
	r := append([]byte(nil), f[6:12]...)
	r = append(r, HostMAC...)
	r = binary.BigEndian.AppendUint16(r, etherIPv6)
	r = append(r, 0x60, 0, 0, 0, 0, byte(len(adv)), protoICM6, 255)
	r = append(r, target.AsSlice()...)
	r = append(r, src.AsSlice()...)
	return append(r, adv...)
}

// icmp6Checksum is the Internet checksum over the pseudo header and a message
// of even length whose checksum field is zero.
func icmp6Checksum(src, dst netip.Addr, msg []byte) uint16 {
	sum := uint32(len(msg)) + protoICM6
	for _, b := range [][]byte{src.AsSlice(), dst.AsSlice(), msg} {
		for i := 0; i < len(b); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[i:]))
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// learn notes which Ethernet address the guest uses for an IP address. Called
// under w.mu.
func (w *Wire) learn(f []byte) {
	var ip netip.Addr
	switch et := etherType(f); {
	case et == etherARP && len(f) >= wire.EthernetLen+arpLen:
		ip = netip.AddrFrom4([4]byte(f[28:32]))
	case et == etherIPv4 && len(f) >= wire.EthernetLen+wire.IPv4Len:
		ip = netip.AddrFrom4([4]byte(f[26:30]))
	case et == etherIPv6 && len(f) >= wire.EthernetLen+wire.IPv6Len:
		ip = netip.AddrFrom16([16]byte(f[22:38]))
	}
	if ip.IsValid() && !ip.IsUnspecified() {
		w.macs[ip] = wire.MAC(f[6:12])
	}
}
