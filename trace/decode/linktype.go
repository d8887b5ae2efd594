package decode

import (
	"fmt"
)

// LinkType says what a record begins with (the numbers of the tcpdump registry).
type LinkType uint32

// Link types that are read.
const (
	LinkEthernet LinkType = 1
	LinkRaw      LinkType = 101 // an IP header
	LinkSLL      LinkType = 113 // Linux "any" interface
	LinkIPv4     LinkType = 228
	LinkIPv6     LinkType = 229
	LinkSLL2     LinkType = 276
)

// String names the link type.
func (l LinkType) String() string {
	switch l {
	case LinkEthernet:
		return "Ethernet"
	case LinkRaw, LinkIPv4, LinkIPv6:
		return "raw IP"
	case LinkSLL, LinkSLL2:
		return "Linux cooked capture"
	}
	return fmt.Sprintf("link type %d", uint32(l))
}

// Supported reports whether packets of the link type can be decoded.
func (l LinkType) Supported() bool {
	switch l {
	case LinkEthernet, LinkRaw, LinkIPv4, LinkIPv6, LinkSLL, LinkSLL2:
		return true
	}
	return false
}
