package udp

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/sockopt"
	"github.com/rocinante-rdma/roce/wire"
)

// Wanted sizes of the socket's buffers, in bytes. The kernel counts about two bytes
// for one: 8 MiB hold a thousand packets of 4 KiB.
const (
	wantReceive = 8 << 20
	wantSend    = 4 << 20
)

type option struct {
	level, name, value int
	what               string
}

// DF on every packet makes the IPv4 identification 0 and turns what does not fit the
// interface into EMSGSIZE. PROBE rather than DO: the kernel then believes no ICMP error
// that says a path is narrower, which anybody can forge and which would silence the
// connection. Peers agree on the path MTU when they connect.
var options4 = []option{
	{unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE, "IP_MTU_DISCOVER"},
	{unix.SOL_IP, unix.IP_RECVTOS, 1, "IP_RECVTOS"},
	{unix.SOL_IP, unix.IP_TTL, wire.DefaultHopLimit, "IP_TTL"},
}

// RoCEv2 senders on hardware leave the UDP checksum 0: the ICRC covers more.
var options6 = []option{
	{unix.SOL_IPV6, unix.IPV6_V6ONLY, 1, "IPV6_V6ONLY"},
	{unix.SOL_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE, "IPV6_MTU_DISCOVER"},
	{unix.SOL_IPV6, unix.IPV6_RECVTCLASS, 1, "IPV6_RECVTCLASS"},
	{unix.SOL_IPV6, unix.IPV6_UNICAST_HOPS, wire.DefaultHopLimit, "IPV6_UNICAST_HOPS"},
	{unix.SOL_UDP, unix.UDP_NO_CHECK6_RX, 1, "UDP_NO_CHECK6_RX"},
}

// openSocket returns a non-blocking, unconnected socket bound to addr and port 4791.
func openSocket(addr netip.Addr, scope uint32, c config) (int, error) {
	family, options := unix.AF_INET, options4
	if addr.Is6() {
		family, options = unix.AF_INET6, options6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	if err := prepareSocket(fd, c, options, sockaddr(addr, wire.Port, scope)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func prepareSocket(fd int, c config, options []option, local unix.Sockaddr) error {
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("set %s: %w", o.what, err)
		}
	}
	if err := sizeReceive(fd, c.receive); err != nil {
		return err
	}
	sockopt.GrowSend(fd, wantSend)
	if c.ownHost { // before any packet can come
		if err := filterOwnHost(fd); err != nil {
			return err
		}
	}
	if err := unix.Bind(fd, local); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

// sizeReceive makes the receive buffer as large as asked for, or else as it gets.
func sizeReceive(fd, bytes int) error {
	if bytes == 0 {
		sockopt.GrowReceive(fd, wantReceive)
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes); err != nil {
		return fmt.Errorf("set SO_RCVBUF to %d: %w", bytes, err)
	}
	return nil
}

// bufferSize reads a buffer's size as the kernel counts it, 0 if it cannot be read.
func bufferSize(fd, name int) int {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
	if err != nil {
		return 0
	}
	return n
}

func sockaddr(addr netip.Addr, port int, scope uint32) unix.Sockaddr {
	if addr.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: addr.As4()}
	}
	return &unix.SockaddrInet6{Port: port, Addr: addr.As16(), ZoneId: scope}
}
