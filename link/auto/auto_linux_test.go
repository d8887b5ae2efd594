package auto

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link/udp"
)

// openIn opens in a host's namespace. The test need not close the link.
func openIn(t *testing.T, h *netns.Host, ifname string, w Wish, addrs ...netip.Addr) *Choice {
	t.Helper()
	var c *Choice
	require.NoError(t, h.Do(func() (err error) { c, err = Open(ifname, w, addrs...); return err }))
	t.Cleanup(func() { require.NoError(t, c.Link.Close()) })
	return c
}

// others are the names of the links that were not taken.
func others(c *Choice) string {
	var names []string
	for _, r := range c.Others {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

func TestBandwidthTakesUDP(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	c := openIn(t, s.A, "va", Bandwidth)
	require.Equal(t, "udp", c.Name)
	require.Equal(t, []netip.Addr{s.A.IPv4}, c.Link.Addrs())
	require.Equal(t, `chose udp 10.9.0.1: several packets share one trip through the kernel (super-frames), and no privilege is needed
not raw: udp is preferred for bandwidth: raw has super-frames too, but costs more per packet, and CAP_NET_RAW
not xdp: udp is preferred for bandwidth: with xdp each packet travels for itself`, c.String())
}

func TestLatencyTakesXDPInNativeMode(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	c := openIn(t, s.A, "va", Latency, s.A.IPv4, s.A.IPv6)
	require.Equal(t, "xdp", c.Name)
	require.Equal(t, "xdp va, native, copy", Describe(c.Link))
	require.Equal(t, []netip.Addr{s.A.IPv4, s.A.IPv6}, c.Link.Addrs())
	require.Equal(t, "udp raw", others(c))
	require.Equal(t, "udp has one address, and 2 are wanted", c.Others[0].Why)
	require.Contains(t, c.Others[1].Why, "xdp is preferred for latency: raw has a little more latency than udp")
}

// One socket of the kernel's UDP has one address.
func TestSeveralAddressesTakeRaw(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	c := openIn(t, s.A, "va", Bandwidth, s.A.IPv4, s.A.IPv6)
	require.Equal(t, "raw", c.Name)
	require.Equal(t, []netip.Addr{s.A.IPv4, s.A.IPv6}, c.Link.Addrs())
	require.Equal(t, "udp xdp", others(c))
}

func TestTakenPortTakesRaw(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	var taken *udp.Link
	require.NoError(t, s.A.Do(func() (err error) { taken, err = udp.Open(s.A.IPv4); return err }))
	defer taken.Close()
	c := openIn(t, s.A, "va", Bandwidth, s.A.IPv4)
	require.Equal(t, "raw", c.Name)
	require.Equal(t, "udp xdp", others(c))
	require.Contains(t, c.Others[0].Why, udp.ErrPortInUse.Error())
}

// Another XDP program on the interface stays, and the next link is taken.
func TestOccupiedInterfaceTakesUDP(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	first := openIn(t, s.A, "va", Latency, s.A.IPv6)
	require.Equal(t, "xdp", first.Name)
	c := openIn(t, s.A, "va", Latency, s.A.IPv4)
	require.Equal(t, "udp", c.Name)
	require.Contains(t, c.Others[0].Why, "another XDP program")
}

func TestLoopbackTakesUDP(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	for _, w := range []Wish{Bandwidth, Latency} {
		c := openIn(t, s.A, "lo", w, netip.MustParseAddr("127.9.0.1"))
		require.Equal(t, "udp", c.Name)
		require.ElementsMatch(t, []Refusal{
			{"raw", "lo is the loopback interface, where there are no frames"},
			{"xdp", "lo is the loopback interface, where there are no frames"},
		}, c.Others)
		require.NoError(t, c.Link.Close())
	}
	require.Equal(t, "127.0.0.1", openIn(t, s.A, "lo", Latency).Link.Addrs()[0].String())
}

// Link-local addresses are known by the interface.
func TestLinkLocalAddress(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	var local netip.Addr
	require.NoError(t, s.A.Do(func() error {
		l, err := netlink.LinkByName("va")
		require.NoError(t, err)
		list, err := netlink.AddrList(l, netlink.FAMILY_V6)
		for _, a := range list {
			if a.IP.IsLinkLocalUnicast() {
				local, _ = netip.AddrFromSlice(a.IP)
			}
		}
		return err
	}))
	require.True(t, local.IsValid())
	c := openIn(t, s.A, "va", Bandwidth, local.WithZone("va"))
	require.Equal(t, "udp", c.Name)
	require.Equal(t, []netip.Addr{local}, c.Link.Addrs())
}

// asNobody is the environment variable by which the test binary, run again, knows the
// wish that it has as an ordinary user.
const asNobody = "ROCE_TEST_AUTO_WISH"

// Without privileges there is udp, and what the others want is named.
func TestWithoutPrivileges(t *testing.T) {
	if wish := os.Getenv(asNobody); wish != "" {
		openAsNobody(wish)
		return
	}
	testenv.Need(t, testenv.Root)
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	for _, w := range []Wish{Bandwidth, Latency} {
		cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$")
		cmd.Env = []string{asNobody + "=" + w.String()}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, s.A.Start(cmd))
		require.NoError(t, cmd.Wait(), out.String())
		t.Log(out.String())
		require.Contains(t, out.String(), "chose udp 10.9.0.1")
		if w == Latency {
			require.Contains(t, out.String(), "not xdp: xdp: open va: ")
			require.Contains(t, out.String(), "CAP_BPF and CAP_NET_ADMIN are needed")
		}
	}
}

func openAsNobody(wish string) {
	w := Bandwidth
	if wish == Latency.String() {
		w = Latency
	}
	c, err := Open("va", w)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c)
	if err := c.Link.Close(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// If nothing opens the error has every reason, and can be told by any of them.
func TestNothingOpens(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	require.NoError(t, s.A.Do(func() error {
		taken, err := udp.Open(netip.MustParseAddr("127.9.0.2"))
		require.NoError(t, err)
		defer taken.Close()
		_, err = Open("lo", Latency, netip.MustParseAddr("127.9.0.2"))
		require.ErrorIs(t, err, udp.ErrPortInUse)
		require.ErrorContains(t, err, "auto: no link can be opened on lo: xdp: lo is the loopback interface")
		require.ErrorContains(t, err, "raw: lo is the loopback interface")

		_, err = Open("nosuch", Latency)
		require.ErrorContains(t, err, `auto: open nosuch: no network interface "nosuch"; there are lo, va`)
		_, err = Open("va", Latency, s.B.IPv4)
		require.ErrorContains(t, err, "auto: open va: va has no usable address 10.9.0.2; it has [fe80::")
		return nil
	}))
}

// The address is the bridge's, and so is the choice.
func TestMemberStandsForItsMaster(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	require.NoError(t, s.A.Do(func() error {
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
		if err := netlink.LinkAdd(bridge); errors.Is(err, syscall.EOPNOTSUPP) {
			t.Skip("the kernel has no bridges: CONFIG_BRIDGE is missing")
		} else if err != nil {
			return err
		}
		va, err := netlink.LinkByName("va")
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetMaster(va, bridge))
		require.NoError(t, netlink.LinkSetUp(bridge))
		return netns.AddAddress(bridge, "10.9.1.1/24")
	}))
	c := openIn(t, s.A, "va", Bandwidth)
	require.Equal(t, "udp 10.9.1.1", c.Link.Name())
	require.Contains(t, c.Why, "va belongs to br0, which has the addresses; ")
}
