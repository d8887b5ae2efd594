package udp

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// W16, and the reason for never connecting the socket: the kernel sends identification 0
// with DF, for every size and traffic class; a connected socket counts.
func TestIdentificationIsZero(t *testing.T) {
	enterNamespace(t)
	lo := up(t, "lo")
	seen := sniff(t, lo)
	a, b := open(t, addr("127.0.0.2")), open(t, addr("127.0.0.3"))
	for _, c := range []struct{ class, hops, ttl uint8 }{{0, 0, 64}, {0x6a, 0, 64}, {0, 7, 7}, {3, 255, 255}} {
		p := &wire.Path{Dst: b.addr, TrafficClass: c.class, HopLimit: c.hops}
		require.NoError(t, a.Resolve(p))
		for _, n := range []int{0, 64, 1024, 4096} {
			put(a.queue, p, 12, 1, [][]byte{make([]byte, n)}, 0, false)
			flush(t, a.queue)
			ip := seen.next()
			require.Zero(t, identification(ip))
			require.Equal(t, uint16(wire.DontFragment), flags(ip))
			require.Equal(t, c.class, ip[1])
			require.Equal(t, c.ttl, ip[8])
			require.True(t, wire.VerifyICRC(a.addr, b.addr, wire.Port, flags(ip), identification(ip), [2][]byte{ip[28:]}))
		}
	}

	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.addr, wire.Port)))
	require.NoError(t, err)
	defer c.Close()
	var ids [3]uint16
	for i := range ids {
		_, err := c.Write(make([]byte, 64))
		require.NoError(t, err)
		ids[i] = identification(seen.next())
	}
	t.Logf("a connected socket sends %#04x", ids)
	require.Equal(t, [3]uint16{ids[0], ids[0] + 1, ids[0] + 2}, ids)
}

func TestExchangeIPv6(t *testing.T) {
	enterNamespace(t)
	lo := up(t, "lo")
	addAddress(t, lo, "fd00::1/128")
	addAddress(t, lo, "fd00::2/128")
	exchange(t, open(t, addr("fd00::1")), open(t, addr("fd00::2")))
}

func TestExchangeLinkLocal(t *testing.T) {
	enterNamespace(t)
	va, vb := addVeth(t)
	addAddress(t, va, "fe80::1/64")
	addAddress(t, va, "fe80::2/64")
	_, err := Open(addr("fe80::1%" + vb.Attrs().Name))
	require.Error(t, err)
	a, b := open(t, addr("fe80::1%va")), open(t, addr("fe80::2%va"))
	require.Equal(t, 9000, a.MTU())
	require.Equal(t, []netip.Addr{addr("fe80::1")}, a.Addrs())
	exchange(t, a, b)
}

// A full send buffer: packets queue for a neighbour that does not answer. What the
// kernel has not taken stays pending in the link's memory, and leaves in order when
// there is room again, which ends a Park that waits for it.
func TestSendBufferFull(t *testing.T) {
	enterNamespace(t)
	va, vb := addVeth(t)
	require.NoError(t, setChecksumming(va.Attrs().Name, false)) // the wire shall see single packets
	seen := sniff(t, vb)
	a := open(t, addr("10.9.0.1"))
	q := a.queue
	require.NoError(t, unix.SetsockoptInt(q.sock, unix.SOL_SOCKET, unix.SO_SNDBUF, 20_000))
	p := &wire.Path{Dst: addr("10.9.0.2")}
	require.NoError(t, a.Resolve(p))

	r := random(t)
	var want [][]byte
	var memory [][]byte
	for i := range 40 {
		pay := fill(r, make([]byte, 4096))
		put(q, p, 12, byte(i), [][]byte{pay}, 0, i%3 == 0)
		memory, want = append(memory, pay), append(want, append([]byte{}, pay...))
	}
	pending, err := q.Flush()
	require.NoError(t, err)
	require.Positive(t, pending)
	require.Equal(t, uint64(1), a.Stats().WouldBlock)
	require.Equal(t, uint64(40-pending), a.Stats().Sent)
	require.Equal(t, outbox.Packets-pending, q.Room())
	t.Logf("%d of 40 packets pending", pending)
	for _, m := range memory {
		clear(m)
	}

	until := q.Now().Add(2 * time.Millisecond)
	q.Arm(until, link.Interest{Tx: true})
	q.Park()
	q.Disarm()
	require.GreaterOrEqual(t, q.Now(), until, "no room: the deadline ends the park")

	addNeighbour(t, va, vb, addr("10.9.0.2"))
	for pending > 0 {
		q.Arm(clock.Never, link.Interest{Tx: true})
		q.Park()
		q.Disarm()
		pending, err = q.Flush()
		require.NoError(t, err)
	}
	for i := range want {
		ip := seen.next()
		require.Equal(t, byte(i), ip[28])
		require.Equal(t, want[i], ip[40:40+4096])
		require.True(t, wire.VerifyICRC(p.Src, p.Dst, wire.Port, flags(ip), identification(ip), [2][]byte{ip[28:]}))
	}
	require.Equal(t, outbox.Packets, q.Room())
}

// Packets that the kernel refuses are dropped, counted and explained; those around
// them arrive.
func TestRefusedPackets(t *testing.T) {
	enterNamespace(t)
	lo := up(t, "lo")
	addVeth(t)
	a, b := open(t, addr("10.9.0.1")), open(t, addr("127.0.0.3"))
	addAddress(t, lo, "10.9.9.9/32")
	c := open(t, addr("10.9.9.9"))
	require.NoError(t, b.Close())
	good, lost := path(t, a, c), &wire.Path{Dst: addr("10.9.0.2")}
	require.NoError(t, a.Resolve(lost))
	require.NoError(t, a.LastRefusal())

	_, dst, err := net.ParseCIDR("10.9.0.2/32")
	require.NoError(t, err)
	require.NoError(t, netlink.RouteAdd(&netlink.Route{Dst: dst, Type: unix.RTN_UNREACHABLE}))
	for i := range 5 {
		put(a.queue, []*wire.Path{good, lost}[i%2], 12, byte(i), nil, 0, true)
	}
	flush(t, a.queue)
	frames, _ := await(c.queue, 3)
	for i, f := range frames {
		require.Equal(t, byte(2*i), f[0])
	}
	require.Equal(t, uint64(2), a.Stats().Refused)
	require.ErrorIs(t, a.LastRefusal(), unix.EHOSTUNREACH)
	t.Log(a.LastRefusal())

	require.NoError(t, netlink.LinkSetMTU(lo, 1500))
	put(a.queue, good, 12, 1, [][]byte{make([]byte, 4096)}, 0, false)
	put(a.queue, good, 12, 2, [][]byte{make([]byte, 1024)}, 0, false)
	flush(t, a.queue)
	frames, _ = await(c.queue, 1)
	require.Equal(t, byte(2), frames[0][0])
	require.Equal(t, uint64(1), a.Stats().TooBig)
	require.ErrorIs(t, a.LastRefusal(), unix.EMSGSIZE)
	t.Log(a.LastRefusal())
	require.Equal(t, uint64(4), a.Stats().Sent)
}

// Nobody listens at the peer: its ICMP errors cost no packet to or from others.
// Linux reports them to unconnected sockets only on demand, so the test demands it.
func TestPortUnreachable(t *testing.T) {
	a, b := pair(t)
	require.NoError(t, unix.SetsockoptInt(a.queue.sock, unix.SOL_IP, unix.IP_RECVERR, 1))
	nobody := &wire.Path{Dst: nextLoopback()}
	require.NoError(t, a.Resolve(nobody))
	ab, ba := path(t, a, b), path(t, b, a)
	for i := range 50 {
		put(a.queue, nobody, 12, 1, nil, 0, true)
		flush(t, a.queue)
		put(a.queue, ab, 12, byte(i), nil, 0, true)
		flush(t, a.queue)
		require.Equal(t, uint64(2*i+1), a.Stats().SockErrors, "send met the error")
		require.Zero(t, a.Stats().Refused)
		frames, _ := await(b.queue, 1)
		require.Equal(t, byte(i), frames[0][0])

		put(b.queue, ba, 12, byte(i), nil, 0, true)
		flush(t, b.queue)
		put(a.queue, nobody, 12, 1, nil, 0, true)
		flush(t, a.queue)
		frames, _ = await(a.queue, 1)
		require.Equal(t, byte(i), frames[0][0])
		require.Equal(t, uint64(2*i+2), a.Stats().SockErrors, "receive met the error")
	}
}
