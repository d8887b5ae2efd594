//go:build linux

package interop

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
)

// Both ends' addresses: the bond's, and that of the bridge it leads to.
var bondA, bridgeB = netip.MustParseAddr("10.6.0.1"), netip.MustParseAddr("10.6.0.2")

// testBond has a link on a bond of two cables write to a host behind both. When the
// active cable goes down in the middle, the writes go on over the other, by retries.
// The address is the bond's alone.
func testBond(t *testing.T, open openInterface) {
	a, b := bondedHosts(t)
	require.NoError(t, a.Do(func() error {
		_, err := open("a0")
		require.ErrorContains(t, err, "bond0")
		t.Log(err)
		return nil
	}))
	l := openLinkOn(t, &netns.Host{Netns: a}, "bond0", open)
	require.Contains(t, l.Addrs(), bondA)
	k := openLinkOn(t, &netns.Host{Netns: b}, "br0", func(string) (link.Link, error) { return udp.Open(bridgeB) })
	x, y := connectEnds(t, l, k, bondA, bridgeB, &netns.Host{Netns: b})
	writeBothWays(t, x, y, 2)

	require.Equal(t, "a0", activeSlave(t, a))
	writeWhileTheCableGoesDown(t, x, y, a, b)
	require.NotZero(t, x.qp.Stats().Retransmitted, "packets sent again")
	y.sync()
	require.Equal(t, guest.Pattern(7, maxMessage), y.mem.Bytes()[arrivalOff:arrivalOff+maxMessage])
	writeBothWays(t, x, y, 2)
	t.Logf("%+v", x.qp.Stats())
}

// writeWhileTheCableGoesDown keeps some writes under way, sets the far end of the active
// cable down, and ends when the bond sends on the other one.
func writeWhileTheCableGoesDown(t *testing.T, x, y *ourEnd, a, b *netns.Netns) {
	t.Helper()
	const (
		window = 4
		most   = 10000 // keeps a bond that never moves from hanging the test
	)
	x.fill(t, sourceOff, maxMessage, 7)
	down := make(chan error, 1)
	for i, moved := uint64(0), false; !moved; i++ {
		require.Less(t, i, uint64(most), "writes, and the bond has not moved")
		x.post(t, work{id: i, op: roce.OpWrite, off: sourceOff, n: maxMessage, at: y.remote(arrivalOff)})
		if i < window {
			continue
		}
		require.Equal(t, roce.StatusSuccess, x.completions(t, 1)[0].status)
		if i == 2*window {
			go func() { down <- b.Do(func() error { return setDown("b0") }) }()
		}
		moved = i > 2*window && activeSlave(t, a) == "a1"
	}
	require.NoError(t, <-down)
	for _, wc := range x.completions(t, window) {
		require.Equal(t, roce.StatusSuccess, wc.status)
	}
}

// bondedHosts are a host with a bond of two cables, bond0 of a0 and a1, and one with a
// bridge between their other ends, br0 of b0 and b1.
func bondedHosts(t *testing.T) (a, b *netns.Netns) {
	t.Helper()
	for _, n := range []**netns.Netns{&a, &b} {
		var err error
		*n, err = netns.New()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, (*n).Close()) })
	}
	require.NoError(t, a.Do(func() error { return addBond(b) }))
	require.NoError(t, b.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "br0", 4200
		return enslave(&netlink.Bridge{LinkAttrs: attrs}, "b0", "b1")
	}))
	likeACable(t, b, "b0")
	likeACable(t, b, "b1")
	for _, end := range []struct {
		*netns.Netns
		ifname string
		addr   netip.Addr
	}{{a, "bond0", bondA}, {b, "br0", bridgeB}} {
		awaitCarrier(t, end.Netns, end.ifname)
		require.NoError(t, end.Do(func() error {
			l, err := netlink.LinkByName(end.ifname)
			if err != nil {
				return err
			}
			return netns.AddAddress(l, netip.PrefixFrom(end.addr, 24).String())
		}))
	}
	return a, b
}

// addBond lays two cables from the thread's namespace to another, and bonds them.
func addBond(far *netns.Netns) error {
	var ns *os.File
	err := far.Do(func() (err error) {
		ns, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return err
	}
	defer ns.Close()
	for _, name := range []string{"0", "1"} {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "a"+name, 4200
		if err := netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: attrs, PeerName: "b" + name, PeerMTU: 4200, PeerNamespace: netlink.NsFd(ns.Fd())}); err != nil {
			return err
		}
	}
	bond := netlink.NewLinkBond(netlink.NewLinkAttrs())
	bond.Name, bond.MTU = "bond0", 4200
	bond.Mode, bond.Miimon = netlink.BOND_MODE_ACTIVE_BACKUP, 100
	return enslave(bond, "a0", "a1")
}

// enslave makes an interface the master of others, and sets all up.
func enslave(master netlink.Link, names ...string) error {
	if err := netlink.LinkAdd(master); err != nil {
		return err
	}
	for _, name := range names {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetMaster(l, master); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(master)
}

func setDown(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetDown(l)
}

// activeSlave is the name of the interface that the bond sends on.
func activeSlave(t *testing.T, n *netns.Netns) (name string) {
	t.Helper()
	require.NoError(t, n.Do(func() error {
		bond, err := netlink.LinkByName("bond0")
		if err != nil {
			return err
		}
		slave, err := netlink.LinkByIndex(bond.(*netlink.Bond).ActiveSlave)
		if err != nil {
			return err
		}
		name = slave.Attrs().Name
		return nil
	}))
	return name
}
