//go:build linux

package guest

import (
	"net"
	"net/netip"
)

// The addresses of the data link. Every guest has the same ones: each guest
// sits on a wire or in a network namespace of its own.
var (
	// GuestIPv4 and GuestIPv6 are the guest's addresses on eth0.
	GuestIPv4 = netip.MustParsePrefix("10.10.0.2/24")
	GuestIPv6 = netip.MustParsePrefix("fd00:10::2/64")
	// HostIPv4 and HostIPv6 are those of the test's end.
	HostIPv4 = netip.MustParsePrefix("10.10.0.1/24")
	HostIPv6 = netip.MustParsePrefix("fd00:10::1/64")
	// GuestMAC and HostMAC are the two ends' Ethernet addresses. Do not modify.
	GuestMAC = net.HardwareAddr{0x52, 0x54, 0x00, 0xdd, 0x00, 0x02}
	HostMAC  = net.HardwareAddr{0x52, 0x54, 0x00, 0xdd, 0x00, 0x01}
)

// GIDIndexIPv4 and GIDIndexIPv6 are the indices of the guest's two routable
// GIDs in the GID table of rxe0 (index 0 is the link-local one).
const (
	GIDIndexIPv4 = 1
	GIDIndexIPv6 = 2
)

// The control NIC is on QEMU's user-mode network: 10.0.2.2 there is this
// machine's 127.0.0.1.
const (
	controlMAC     = "52:54:00:cc:00:02"
	controlAddr    = "10.0.2.15/24"
	controlGateway = "10.0.2.2"
)
