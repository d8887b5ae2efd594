package pingpong

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func addrs(s ...string) []netip.Addr {
	var list []netip.Addr
	for _, a := range s {
		list = append(list, netip.MustParseAddr(a))
	}
	return list
}

// The second is what ibv_devinfo shows of a kernel device with these addresses.
func TestGIDsAreInTheKernelsOrder(t *testing.T) {
	require.Equal(t,
		addrs("fe80::5054:ff:fedd:3%eth0", "10.10.0.3", "fd00:10::3"),
		inGIDOrder(addrs("10.10.0.3", "fd00:10::3", "fe80::5054:ff:fedd:3%eth0")))
	require.Equal(t,
		addrs("fe80::1%e", "10.0.0.1", "10.0.0.2", "2001:db8::1", "fd00::1", "fe80::2%e"),
		inGIDOrder(addrs("10.0.0.1", "10.0.0.2", "2001:db8::1", "fd00::1", "fe80::1%e", "fe80::2%e")))
	require.Equal(t, addrs("10.0.0.1"), inGIDOrder(addrs("10.0.0.1")))
	require.Empty(t, inGIDOrder(nil))
}

func TestDefaultGIDIsOneThatWorks(t *testing.T) {
	for want, table := range map[string][]netip.Addr{
		"10.0.0.1":  addrs("fe80::1%e", "10.0.0.1", "fd00::1"),
		"fd00::1":   addrs("fe80::1%e", "fd00::1"),
		"fe80::1%e": addrs("fe80::1%e"),
		"::1":       addrs("::1"),
	} {
		require.Equal(t, want, preferred(table).String())
	}
}

func TestLocalAddrOfTheLoopback(t *testing.T) {
	lo := loopback(t)
	addr, err := LocalAddr(lo, -1)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", addr.String())
	addr, err = LocalAddr(lo, 0)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", addr.String())
	_, err = LocalAddr(lo, 1000)
	require.ErrorContains(t, err, "has no GID 1000; it has 0: 127.0.0.1")
	_, err = LocalAddr("no-such-interface", -1)
	require.ErrorContains(t, err, "the network interfaces, here")
	require.ErrorContains(t, err, lo)
}

func loopback(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, itf := range all {
		if itf.Flags&net.FlagLoopback != 0 {
			return itf.Name
		}
	}
	t.Skip("this system has no loopback interface")
	return ""
}
