package pingpong

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/hostnet"
)

// gids is a table of addresses on an interface e; those that begin with ! have a
// problem.
func gids(addrs ...string) []hostnet.GID {
	table := make([]hostnet.GID, len(addrs))
	for n, a := range addrs {
		g := hostnet.GID{Index: n, Interface: "e"}
		if a[0] == '!' {
			g.Problem, a = "e does not have it", a[1:]
		}
		g.Addr = netip.MustParseAddr(a)
		table[n] = g
	}
	return table
}

func TestDefaultGIDIsOneThatWorks(t *testing.T) {
	for want, table := range map[string][]hostnet.GID{
		"10.0.0.1":  gids("fe80::1", "10.0.0.1", "10.0.0.2", "fd00::1"),
		"10.0.0.2":  gids("fe80::1", "!10.0.0.1", "10.0.0.2", "fd00::1"),
		"fd00::1":   gids("fe80::1", "fd00::1"),
		"fe80::1%e": gids("fe80::1"),
		"fe80::2%e": gids("!fe80::1", "fe80::2"),
		"::1":       gids("::1"),
	} {
		g, err := choose(table, -1)
		require.NoError(t, err)
		require.Equal(t, want, g.Zoned().String())
	}
	_, err := choose(gids("!fe80::1", "!10.0.0.1"), -1)
	require.EqualError(t, err, "no usable GID: e does not have it")
}

// An index means what it means to the tool, so one that cannot be used is an error
// and not another address.
func TestGIDIndexIsTheTools(t *testing.T) {
	table := gids("!fe80::1", "10.0.0.1", "fd00::1")
	for index, want := range map[int]string{1: "10.0.0.1", 2: "fd00::1"} {
		g, err := choose(table, index)
		require.NoError(t, err)
		require.Equal(t, want, g.Addr.String())
	}
	_, err := choose(table, 0)
	require.EqualError(t, err, "GID 0, fe80::1, cannot be used: e does not have it; there are 0: fe80::1 (unusable) 1: 10.0.0.1 2: fd00::1")
	_, err = choose(table, 3)
	require.EqualError(t, err, "there is no GID 3; there are 0: fe80::1 (unusable) 1: 10.0.0.1 2: fd00::1")
}

func TestLocalAddrOfTheLoopback(t *testing.T) {
	lo := loopback(t)
	addr, err := LocalAddr(lo, -1)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", addr.String())
	_, err = LocalAddr(lo, 0)
	require.ErrorContains(t, err, "interface "+lo+": GID 0")
	_, err = LocalAddr(lo, 1000)
	require.ErrorContains(t, err, "there is no GID 1000; there are 0:")
	_, err = LocalAddr("no-such-interface", -1)
	require.ErrorContains(t, err, `no network interface "no-such-interface"; there are`)
	require.ErrorContains(t, err, lo)
}

func loopback(t *testing.T) string {
	t.Helper()
	all, err := hostnet.Interfaces()
	require.NoError(t, err)
	for _, itf := range all {
		if itf.Loopback {
			return itf.Name
		}
	}
	t.Skip("this system has no loopback interface")
	return ""
}
