package wire

import "fmt"

// Lengths of the link headers in bytes.
const (
	EthernetLen = 14
	VLANLen     = 4 // what an 802.1Q tag adds
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
