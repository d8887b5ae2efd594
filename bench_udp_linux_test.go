package roce_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
)

// anyPort is the loopback interface's address, and whatever port is free.
var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// newLoopbackEnd is a device on the loopback interface with one of everything; its region
// has size bytes.
func newLoopbackEnd(b *testing.B, size, sendDepth int) *end {
	b.Helper()
	dev, err := roce.Open(loopback(b))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	e := &end{t: b, dev: dev}
	e.pd, err = dev.AllocPD()
	require.NoError(b, err)
	e.cq, err = dev.CreateCQ(2 * sendDepth)
	require.NoError(b, err)
	e.mr, err = e.pd.RegMR(make([]byte, size), allRights)
	require.NoError(b, err)
	e.qp, err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: sendDepth, RecvDepth: sendDepth})
	require.NoError(b, err)
	return e
}

// newLoopbackPair is two devices on the loopback interface, connected.
func newLoopbackPair(b *testing.B, size, sendDepth int) (x, y *end) {
	b.Helper()
	x, y = newLoopbackEnd(b, size, sendDepth), newLoopbackEnd(b, size, sendDepth)
	require.NoError(b, x.qp.Connect(y.qp.Info()))
	require.NoError(b, y.qp.Connect(x.qp.Info()))
	return x, y
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
