package hostnet

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

func TestInterfacesAreDescribed(t *testing.T) {
	a, _ := newSides(t)
	h := a.handle()
	all, err := h.Interfaces()
	require.NoError(t, err)
	require.Equal(t, Interface{Name: "lo", Index: 1, MTU: 65536, Up: true, Loopback: true, Kind: "device",
		RxQueues: 1, TxQueues: 1, Addrs: prefixes("127.0.0.1/8", "::1/128")}, all[0])
	va, err := h.ByName("va")
	require.NoError(t, err)
	require.NotZero(t, va.RxQueues)
	require.NotZero(t, va.TxQueues)
	require.Equal(t, &Interface{Name: "va", Index: a.index, MTU: 1500, MAC: a.mac, Up: true,
		Kind: "veth", Driver: "veth", RxQueues: va.RxQueues, TxQueues: va.TxQueues,
		Addrs: prefixes("10.9.0.1/24", "fd09::1/64", a.local.String()+"/64")}, va)

	i, err := h.ByAddr(a.IPv6)
	require.NoError(t, err)
	require.Equal(t, va, i)
	_, err = h.ByName("eth9")
	require.EqualError(t, err, `no network interface "eth9"; there are lo, va`)

	a.down("va")
	va, err = h.ByName("va")
	require.NoError(t, err)
	require.False(t, va.Up)
}

// The package's functions look at the namespace of the calling thread; a handle stays
// in that of its opening.
func TestNamespaces(t *testing.T) {
	a, b := newSides(t)
	h := a.handle()
	a.do(func() {
		_, err := ByAddr(a.IPv4)
		require.NoError(t, err)
	})
	b.do(func() {
		all, err := Interfaces()
		require.NoError(t, err)
		require.Equal(t, "lo, vb", names(all))
		_, err = h.ByAddr(a.IPv4)
		require.NoError(t, err)
		hop, err := h.Route(a.IPv4, b.IPv4, 0)
		require.NoError(t, err)
		mac, err := h.Neighbour(t.Context(), hop.IfIndex, hop.Next)
		require.NoError(t, err)
		require.Equal(t, b.mac, mac)
		require.Equal(t, "veth", h.probe.driver("va"))
		require.NoError(t, h.Do(func() error {
			_, err := ByAddr(a.IPv4)
			return err
		}))
		_, err = ByAddr(b.IPv4)
		require.NoError(t, err, "Do leaves the calling thread where it was")
	})
}

func TestDisabledIPv6LeavesIPv4(t *testing.T) {
	a, b := newSides(t)
	a.sysctl("net/ipv6/conf/va/disable_ipv6", "1")
	h := a.handle()
	va, err := h.ByName("va")
	require.NoError(t, err)
	table, err := h.GIDs(va)
	require.NoError(t, err)
	require.Equal(t, []string{a.local.String() + " va !", "10.9.0.1 va"}, shape(t, table))
	require.Contains(t, table[0].Problem, "IPv6 is disabled there")
	mac, err := h.Neighbour(t.Context(), a.index, b.IPv4)
	require.NoError(t, err)
	require.Equal(t, b.mac, mac)
	_, err = h.Route(netip.Addr{}, b.IPv6, a.index)
	require.ErrorContains(t, err, "no route to fd09::2 through va")
}

func TestAMemberOfABridgeNamesItsMaster(t *testing.T) {
	a, _ := newSides(t)
	bridge, l := &netlink.Bridge{LinkAttrs: named("br0")}, a.link("va")
	a.add(bridge, "CONFIG_BRIDGE")
	a.do(func() { require.NoError(t, netlink.LinkSetMaster(l, bridge)) })
	a.up("br0")
	a.addAddress("br0", "10.10.0.1/24")
	h := a.handle()
	member, err := h.ByName("va")
	require.NoError(t, err)
	require.Equal(t, a.link("br0").Attrs().Index, member.Master)
	table, err := h.GIDs(member)
	require.NoError(t, err)
	require.Equal(t, "10.10.0.1 br0 !", shape(t, table)[1])
}

// The members of a VRF keep their addresses.
func TestAVRFIsNoMaster(t *testing.T) {
	a, _ := newSides(t)
	vrf, l := &netlink.Vrf{LinkAttrs: named("vrf0"), Table: 100}, a.link("va")
	a.add(vrf, "CONFIG_NET_VRF")
	a.do(func() { require.NoError(t, netlink.LinkSetMaster(l, vrf)) })
	member, err := a.handle().ByName("va")
	require.NoError(t, err)
	require.Zero(t, member.Master)
}

// Handles and monitors leave no descriptor behind, so none of a namespace either.
func TestNothingIsLeftOpen(t *testing.T) {
	a, _ := newSides(t)
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	a.do(func() {
		before := open()
		for range 10 {
			h, err := NewHandle()
			require.NoError(t, err)
			m, err := h.NewMonitor()
			require.NoError(t, err)
			require.NoError(t, h.Close())
			require.NoError(t, m.Close())
		}
		require.LessOrEqual(t, open(), before, "of ten handles and monitors")
	})
}
