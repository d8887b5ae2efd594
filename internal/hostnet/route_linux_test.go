package hostnet

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func network(s string) *net.IPNet {
	_, n, err := net.ParseCIDR(s)
	if err != nil {
		panic(err)
	}
	return n
}

func TestRoutes(t *testing.T) {
	a, b := newSides(t)
	h := a.handle()
	a.addRoute(netlink.Route{LinkIndex: a.index, Dst: network("10.50.0.0/16"), Gw: net.ParseIP("10.9.0.2"), MTU: 1300})
	a.addRoute(netlink.Route{LinkIndex: a.index, Dst: network("fd50::/16"), Gw: b.local.AsSlice()})
	a.addRoute(netlink.Route{LinkIndex: a.index, Dst: network("10.60.0.0/16"),
		Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: net.ParseIP("fd09::2")}})

	for _, c := range []struct {
		src, dst, next string
		mtu            int
	}{
		{"10.9.0.1", "10.9.0.2", "10.9.0.2", 1500},
		{"10.9.0.1", "::ffff:10.9.0.2", "10.9.0.2", 1500},
		{"10.9.0.1", "10.50.1.1", "10.9.0.2", 1300},
		{"10.9.0.1", "10.60.1.1", "fd09::2", 1500},
		{"fd09::1", "fd09::2", "fd09::2", 1500},
		{"fd09::1", "fd50::1", b.local.String(), 1500},
		{a.local.String(), b.local.WithZone("va").String(), b.local.String(), 1500},
	} {
		hop, err := h.Route(addr(c.src), addr(c.dst), a.index)
		require.NoError(t, err, c.dst)
		require.Equal(t, Hop{IfIndex: a.index, Next: addr(c.next), MTU: c.mtu}, hop, c.dst)
	}
}

func TestOwnAddressesAreLocalWhateverTheInterface(t *testing.T) {
	a, _ := newSides(t)
	h := a.handle()
	a.addAddress("lo", "10.77.0.1/32")
	for _, dst := range []string{"10.9.0.1", "10.77.0.1", "127.0.0.1", "fd09::1", "::1", a.local.String()} {
		hop, err := h.Route(netip.Addr{}, addr(dst), a.index)
		require.NoError(t, err, dst)
		require.True(t, hop.Local, dst)
	}
	hop, err := h.Route(addr("10.9.0.1"), addr("10.9.0.2"), 0)
	require.NoError(t, err)
	require.False(t, hop.Local)
}

func TestNoRouteIsAnErrorThatHelps(t *testing.T) {
	a, _ := newSides(t)
	h := a.handle()
	for n, kind := range []int{unix.RTN_UNREACHABLE, unix.RTN_PROHIBIT, unix.RTN_BLACKHOLE} {
		a.addRoute(netlink.Route{Type: kind, Dst: network([]string{"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"}[n])})
		a.addRoute(netlink.Route{Type: kind, Dst: network([]string{"fd01::/16", "fd02::/16", "fd03::/16"}[n])})
	}
	for _, c := range []struct {
		dst     string
		ifindex int
		want    string
	}{
		{"10.200.0.1", 0, "network is unreachable; give the interface an address of that network"},
		{"10.1.0.1", 0, "type unreachable"},
		{"10.2.0.1", 0, "type prohibit"},
		{"10.3.0.1", 0, "type blackhole"},
		{"fdee::1", 0, "network is unreachable; give the interface an address of that network"},
		{"fd01::1", 0, "type unreachable"},
		{"fd02::1", 0, "type prohibit"},
		{"fd03::1", 0, "type blackhole"},
		// Given an interface IPv4 takes any destination to be on the link.
		{"10.200.0.1", a.index, "through va: network is unreachable"},
		{"10.1.0.1", a.index, "through va: network is unreachable"},
		{"fdee::1", a.index, "through va: network is unreachable"},
		{"fd01::1", a.index, "through va: network is unreachable"},
		{"10.9.0.255", a.index, "address of many hosts"},
		{"224.0.0.5", a.index, "address of many hosts"},
		{"ff02::1", a.index, "address of many hosts"},
		{"10.9.0.2", 77, "through interface 77: no such device; the interface is gone"},
	} {
		_, err := h.Route(netip.Addr{}, addr(c.dst), c.ifindex)
		require.ErrorContains(t, err, "no route to "+c.dst)
		require.ErrorContains(t, err, c.want, c.dst)
	}
	_, err := h.Route(addr("10.9.0.99"), addr("10.9.0.2"), a.index)
	require.ErrorContains(t, err, "no route to 10.9.0.2 from 10.9.0.99 through va: the source address is no address of this host")
}
