package roce_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// place is where a baseline opens a socket: at an address, on whatever port is free.
type place struct {
	enter func(open func() error) error // calls open in the address's network namespace
	addr  netip.Addr
}

// loopbackPlace is where the tests are, on the loopback interface.
var loopbackPlace = place{func(open func() error) error { return open() }, netip.MustParseAddr("127.0.0.1")}

func (p place) anyPort() netip.AddrPort { return netip.AddrPortFrom(p.addr, 0) }

// newLoopbackPair is two devices on the loopback interface, connected.
func newLoopbackPair(b *testing.B, size, depth int) (x, y *end) {
	b.Helper()
	return connected(newBenchEnd(b, loopback(b), size, depth), newBenchEnd(b, loopback(b), size, depth))
}

// datagramOverhead is what a packet has around a short payload: BTH and ICRC.
const datagramOverhead = 12 + 4

// newNetConns is two sockets of package net.
func newNetConns(b *testing.B, one, two place) (x, y *net.UDPConn) {
	b.Helper()
	return newNetConn(b, one), newNetConn(b, two)
}

// newNetConn is a socket with buffers as the devices have.
func newNetConn(b *testing.B, p place) (c *net.UDPConn) {
	b.Helper()
	require.NoError(b, p.enter(func() (err error) {
		c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(p.anyPort()))
		return err
	}))
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

// newStream is a TCP connection of package net.
func newStream(b *testing.B, one, two place) (x, y *net.TCPConn) {
	b.Helper()
	var ln *net.TCPListener
	require.NoError(b, two.enter(func() (err error) {
		ln, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(two.anyPort()))
		return err
	}))
	defer ln.Close()
	require.NoError(b, one.enter(func() (err error) {
		x, err = net.DialTCP("tcp4", nil, ln.Addr().(*net.TCPAddr))
		return err
	}))
	b.Cleanup(func() { x.Close() })
	y, err := ln.AcceptTCP()
	require.NoError(b, err)
	b.Cleanup(func() { y.Close() })
	return x, y
}

func addrPort(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
