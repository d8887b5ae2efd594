package roce_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// anyPort is the loopback interface's address, and whatever port is free.
var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// newLoopbackPair is two devices on the loopback interface, connected.
func newLoopbackPair(b *testing.B, size, depth int) (x, y *end) {
	b.Helper()
	return connected(newBenchEnd(b, loopback(b), size, depth), newBenchEnd(b, loopback(b), size, depth))
}

// datagramOverhead is what a packet has around a short payload: BTH and ICRC.
const datagramOverhead = 12 + 4

// newNetConns is two sockets of package net, with buffers as the devices have.
func newNetConns(b *testing.B) (x, y *net.UDPConn) {
	b.Helper()
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(anyPort))
		require.NoError(b, err)
		b.Cleanup(func() { c.Close() })
		raw, err := c.SyscallConn()
		require.NoError(b, err)
		require.NoError(b, raw.Control(func(fd uintptr) {
			const bytes = 8 << 20
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes) != nil {
				err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
			}
		}))
		require.NoError(b, err)
		return c
	}
	return listen(), listen()
}

func addrPort(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
