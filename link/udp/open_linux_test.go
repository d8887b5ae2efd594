package udp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

func TestOpen(t *testing.T) {
	addr := nextLoopback()
	l := open(t, addr)
	require.Equal(t, "udp "+addr.String(), l.Name())
	require.Equal(t, []netip.Addr{addr}, l.Addrs())
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	require.Equal(t, lo.MTU, l.MTU())
	require.Equal(t, 4096, link.PathMTU(l.MTU()))
	receive, send := l.Buffers()
	require.Positive(t, receive)
	require.Positive(t, send)
	t.Logf("buffers: receive %d, send %d bytes", receive, send)
}

func TestOpenRefuses(t *testing.T) {
	for _, addr := range []string{"0.0.0.0", "::", "224.0.0.1", "192.0.2.1", "2001:db8::1", "fe80::1"} {
		l, err := Open(netip.MustParseAddr(addr))
		require.Error(t, err, addr)
		require.Nil(t, l)
		t.Log(err)
	}
}

func TestPortInUse(t *testing.T) {
	l := open(t, nextLoopback())
	_, err := Open(l.addr)
	require.ErrorIs(t, err, ErrPortInUse)
	t.Log(err)

	require.NoError(t, l.Close())
	require.NoError(t, l.Close(), "closing again")
	again, err := Open(l.addr)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestResolveRefuses(t *testing.T) {
	l := open(t, nextLoopback())
	for _, p := range []wire.Path{
		{Dst: netip.MustParseAddr("::1")},
		{Dst: netip.MustParseAddr("::ffff:127.0.0.1")},
		{},
		{Src: netip.MustParseAddr("127.0.0.1"), Dst: l.addr},
		{Dst: netip.MustParseAddr("192.0.2.1")}, // not reachable from a loopback address
	} {
		err := l.Resolve(&p)
		require.Error(t, err, "%v", p)
		t.Log(err)
	}
}

// A closed link does nothing, says so, and touches no descriptor.
func TestClosed(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	require.NoError(t, a.Close())
	put(a.queue, p, 12, 1, nil, 0, true)
	_, err := a.queue.Flush()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Equal(t, outbox.Packets, a.queue.Room())
	require.Zero(t, a.queue.Recv(make([]link.Rx, 1)))
	a.queue.Arm(0, link.Interest{Rx: true})
	a.queue.Wake()
	a.queue.Park()
	a.queue.Disarm()
}
