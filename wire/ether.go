package wire

import "fmt"

// Lengths of the link headers in bytes.
const (
	EthernetLen = 14
	VLANLen     = 4 // what an 802.1Q tag adds
)

// EthernetOverhead is what a frame takes of an Ethernet's bit rate besides its IP packet, in
// bytes: header 14, check sequence 4, and in front of and behind the frame preamble 8 and
// inter-frame gap 12 (IEEE 802.3). A VLAN tag comes on top.
const EthernetOverhead = EthernetLen + 4 + 8 + 12

// Parts of the tag control information (IEEE 802.1Q, 9.6).
const (
	VLANID            = 0x0fff // 0: a priority tag, on no VLAN
	VLANPriorityShift = 13     // of the 3 priority bits
)

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	etherTypeVLAN = 0x8100 // 802.1Q
)

// MAC is an Ethernet address.
type MAC [6]byte

// String prints the address in lower case with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}
