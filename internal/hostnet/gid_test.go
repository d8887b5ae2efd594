package hostnet

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/wire"
)

func prefixes(s ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(s))
	for n, p := range s {
		list[n] = netip.MustParsePrefix(p)
	}
	return list
}

// shape is what of a table the tests compare: index by position.
func shape(t *testing.T, table []GID) (addrs []string) {
	t.Helper()
	for n, g := range table {
		require.Equal(t, n, g.Index)
		s := g.Addr.String() + " " + g.Interface
		if g.Problem != "" {
			s += " !"
		}
		addrs = append(addrs, s)
	}
	return addrs
}

var guestMAC = wire.MAC{0x52, 0x54, 0, 0xdd, 0, 3}

// What ibv_devinfo shows of a kernel device on an interface with this MAC and these
// addresses.
func TestGIDsAreTheKernels(t *testing.T) {
	eth0 := Interface{Name: "eth0", Index: 2, MAC: guestMAC,
		Addrs: prefixes("10.10.0.3/24", "fd00:10::3/64", "fe80::5054:ff:fedd:3/64")}
	require.Equal(t, []string{"fe80::5054:ff:fedd:3 eth0", "10.10.0.3 eth0", "fd00:10::3 eth0"},
		shape(t, gidTable(&eth0, []Interface{eth0})))
}

// A link-local address that is not made from the MAC is one like any other, and
// index 0 is there and does not work.
func TestGIDZeroOfARandomLinkLocalAddress(t *testing.T) {
	eth0 := Interface{Name: "eth0", Index: 2, MAC: guestMAC, Addrs: prefixes("10.0.0.1/8", "10.0.0.2/8", "2001:db8::1/64", "fe80::1/64")}
	table := gidTable(&eth0, []Interface{eth0})
	require.Equal(t, []string{"fe80::5054:ff:fedd:3 eth0 !", "10.0.0.1 eth0", "10.0.0.2 eth0", "2001:db8::1 eth0", "fe80::1 eth0"},
		shape(t, table))
	require.Equal(t, "made from the MAC as the table wants it, but not an address of eth0: choose another index", table[0].Problem)
	require.Equal(t, "fe80::1%eth0", table[4].Zoned().String())
	require.Equal(t, "10.0.0.1", table[1].Zoned().String())
}

func TestGIDsWithoutIPv6(t *testing.T) {
	eth0 := Interface{Name: "eth0", Index: 2, MAC: guestMAC, Up: true, Addrs: prefixes("10.0.0.1/8")}
	table := gidTable(&eth0, []Interface{eth0})
	require.Equal(t, []string{"fe80::5054:ff:fedd:3 eth0 !", "10.0.0.1 eth0"}, shape(t, table))
	require.Equal(t, "eth0 has no IPv6 address: IPv6 is disabled there (sysctl net.ipv6.conf.eth0.disable_ipv6)", table[0].Problem)
	good, err := Usable(table)
	require.NoError(t, err)
	require.Equal(t, table[1:], good)
}

func TestNoUsableGIDSaysWhichLacksWhat(t *testing.T) {
	eth0 := Interface{Name: "eth0", Index: 2, MAC: guestMAC}
	_, err := Usable(gidTable(&eth0, []Interface{eth0}))
	require.EqualError(t, err, "no usable GID: eth0 is down and has no IPv6 address: set it up (`ip link set dev eth0 up`)")
}

func TestEachProblemIsToldOnce(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	_, err := Usable([]GID{{Index: 0, Addr: a, Problem: "too old"}, {Index: 1, Addr: b, Problem: "too new"}})
	require.EqualError(t, err, "no usable GID: GID 0, 10.0.0.1: too old; GID 1, 10.0.0.2: too new")
	_, err = Usable([]GID{{Index: 0, Addr: a, Problem: "too old"}, {Index: 1, Addr: b, Problem: "too old"}})
	require.EqualError(t, err, "no usable GID: too old")
}

func TestGIDsOfVLANsFollow(t *testing.T) {
	link := "fe80::5054:ff:fedd:3/64"
	all := []Interface{
		{Name: "eth0", Index: 2, MAC: guestMAC, Addrs: prefixes("10.0.0.1/8", link)},
		{Name: "eth1", Index: 3, Addrs: prefixes("10.3.0.1/16")},
		{Name: "eth0.5", Index: 4, MAC: guestMAC, Kind: "vlan", Parent: 2, VLAN: 5, Addrs: prefixes("fd05::1/64", link, "10.5.0.1/16")},
		{Name: "eth0.6", Index: 5, MAC: guestMAC, Kind: "vlan", Parent: 2, VLAN: 6, Addrs: prefixes("10.6.0.1/16")},
		{Name: "eth1.5", Index: 6, Kind: "vlan", Parent: 3, VLAN: 5, Addrs: prefixes("10.7.0.1/16")},
		{Name: "eth0.7", Index: 7, MAC: guestMAC, Kind: "vlan", Parent: 2, VLAN: 7, Master: 9, Addrs: prefixes("10.8.0.1/16")},
	}
	table := gidTable(&all[0], all)
	require.Equal(t, []string{
		"fe80::5054:ff:fedd:3 eth0", "10.0.0.1 eth0",
		"10.5.0.1 eth0.5", "fd05::1 eth0.5", "fe80::5054:ff:fedd:3 eth0.5",
		"10.6.0.1 eth0.6",
	}, shape(t, table))
	require.EqualValues(t, 5, table[3].VLAN)
	require.Equal(t, 4, table[3].IfIndex)
	require.Equal(t, []string{"fe80::5054:ff:fedd:3 eth0.5", "10.5.0.1 eth0.5", "fd05::1 eth0.5"}, shape(t, gidTable(&all[2], all)),
		"a sub-interface alone has a table of its own")
}

func TestGIDsOfAMemberAreItsMasters(t *testing.T) {
	all := []Interface{
		{Name: "eth0", Index: 2, MAC: wire.MAC{2, 0, 0, 0, 0, 1}, Master: 4, Addrs: prefixes("10.99.0.1/16")},
		{Name: "br0", Index: 3, MAC: guestMAC, Kind: "bridge", Addrs: prefixes("10.0.0.1/8", "fe80::5054:ff:fedd:3/64")},
		{Name: "bond0", Index: 4, MAC: wire.MAC{2, 0, 0, 0, 0, 9}, Kind: "bond", Master: 3},
	}
	table := gidTable(&all[0], all)
	require.Equal(t, []string{"fe80::5054:ff:fedd:3 br0 !", "10.0.0.1 br0 !"}, shape(t, table))
	require.Equal(t, "eth0 belongs to br0, which has the addresses: use br0", table[1].Problem)
	_, err := Usable(table)
	require.EqualError(t, err, "no usable GID: eth0 belongs to br0, which has the addresses: use br0")
}

func TestPreferredAddress(t *testing.T) {
	gids := func(addrs ...string) (g []GID) {
		for _, a := range addrs {
			g = append(g, GID{Addr: netip.MustParseAddr(a)})
		}
		return g
	}
	require.Equal(t, "10.0.0.1", Preferred(gids("fe80::1", "10.0.0.1", "10.0.0.2", "fd00::1")).Addr.String())
	require.Equal(t, "fd00::1", Preferred(gids("fe80::1", "fd00::1")).Addr.String())
	require.Equal(t, "fe80::1", Preferred(gids("fe80::1", "fe80::2")).Addr.String())
}

// All bonds and bridges above an interface are climbed.
func TestOwnerOf(t *testing.T) {
	all := []Interface{
		{Name: "eth0", Index: 2, Master: 4}, {Name: "eth1", Index: 3},
		{Name: "bond0", Index: 4, Master: 5}, {Name: "br0", Index: 5},
		{Name: "odd", Index: 6, Master: 6},
	}
	for at, want := range []string{"br0", "eth1", "br0", "br0", "odd"} {
		require.Equal(t, want, OwnerOf(&all[at], all).Name)
	}
}

func TestInterfacesAreFoundByAddress(t *testing.T) {
	all := []Interface{
		{Name: "eth0", Index: 2, Addrs: prefixes("10.0.0.1/8", "fe80::1/64")},
		{Name: "eth1", Index: 3, Addrs: prefixes("10.3.0.1/16", "fe80::1/64")},
		{Name: "lo", Index: 1, Loopback: true}, // its 127.0.0.0/8 need not be listed
	}
	for a, want := range map[string]string{"127.0.0.5": "lo", "10.3.0.1": "eth1", "::ffff:10.0.0.1": "eth0", "fe80::1%eth1": "eth1"} {
		i, err := byAddr(all, netip.MustParseAddr(a))
		require.NoError(t, err)
		require.Equal(t, want, i.Name)
	}
	_, err := byAddr(all, netip.MustParseAddr("fe80::1"))
	require.EqualError(t, err, "eth0, eth1 all have the address fe80::1; say which with a zone: fe80::1%eth0")
	_, err = byAddr(all, netip.MustParseAddr("10.9.9.9"))
	require.EqualError(t, err, "no network interface has the address 10.9.9.9; there are 10.0.0.1 (eth0) fe80::1 (eth0) 10.3.0.1 (eth1) fe80::1 (eth1)")
	_, err = byAddr(nil, netip.MustParseAddr("10.9.9.9"))
	require.ErrorContains(t, err, "there are none")
}
