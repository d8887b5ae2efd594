//go:build linux

package guest

import (
	"net"
	"net/netip"
)

// The addresses of the data link. Every guest has the same ones, since each has a
// cable of its own; but those that join another guest's cable have the second ones.
var (
	// GuestIPv4 and GuestIPv6 are the guest's addresses on eth0.
	GuestIPv4 = netip.MustParsePrefix("10.10.0.2/24")
	GuestIPv6 = netip.MustParsePrefix("fd00:10::2/64")
	// SecondIPv4 and SecondIPv6 are those of a guest that joined another: see
	// Config.Join.
	SecondIPv4 = netip.MustParsePrefix("10.10.0.3/24")
	SecondIPv6 = netip.MustParsePrefix("fd00:10::3/64")
	// HostIPv4 and HostIPv6 are those of the test's end.
	HostIPv4 = netip.MustParsePrefix("10.10.0.1/24")
	HostIPv6 = netip.MustParsePrefix("fd00:10::1/64")
	// GuestMAC, SecondMAC and HostMAC are the ends' Ethernet addresses. Do not modify.
	GuestMAC  = net.HardwareAddr{0x52, 0x54, 0x00, 0xdd, 0x00, 0x02}
	SecondMAC = net.HardwareAddr{0x52, 0x54, 0x00, 0xdd, 0x00, 0x03}
	HostMAC   = net.HardwareAddr{0x52, 0x54, 0x00, 0xdd, 0x00, 0x01}
)

// host is an end of the data link.
type host struct {
	mac        net.HardwareAddr
	ipv4, ipv6 netip.Prefix
}

// addresses are those of a guest.
func (cfg *Config) addresses() host {
	if cfg.Join != nil {
		return host{SecondMAC, SecondIPv4, SecondIPv6}
	}
	return host{GuestMAC, GuestIPv4, GuestIPv6}
}

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
