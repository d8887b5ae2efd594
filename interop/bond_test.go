//go:build linux

package interop

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// Both ends' addresses: the bond's, and that of the bridge it leads to.
var bondA, bridgeB = netip.MustParseAddr("10.6.0.1"), netip.MustParseAddr("10.6.0.2")

// testBond has a link on a bond of two cables write to a host behind both. When the
// active cable breaks in the middle, the writes go on over the other, by retries. The
// address is the bond's alone.
func testBond(t *testing.T, open openInterface) {
	a, b := bondedHosts(t)
	require.NoError(t, a.Do(func() error {
		_, err := open("a0")
		require.ErrorContains(t, err, "bond0")
		t.Log(err)
		return nil
	}))
	l := openIn(t, a, "bond0", open)
	require.Contains(t, l.Addrs(), bondA)
	requireBehindTheDrivers(t, l)
	k := openIn(t, b, "br0", func(string) (link.Link, error) { return udp.Open(bridgeB) })
	x, y := connectEnds(t, l, k, bondA, bridgeB, b)
	writeBothWays(t, x, y, 2)

	require.Equal(t, "a0", activeSlave(t, a))
	writeWhileTheCableBreaks(t, x, y, b)
	require.Equal(t, "a1", activeSlave(t, a))
	y.sync()
	require.Equal(t, guest.Pattern(7, maxMessage), y.mem.Bytes()[arrivalOff:arrivalOff+maxMessage])
	writeBothWays(t, x, y, 2)
	t.Logf("%+v", x.qp.Stats())
}

// requireBehindTheDrivers holds xdp to what it knows of bonds: in the driver of a
// member the kernel does not let a packet into a socket of the bond.
func requireBehindTheDrivers(t *testing.T, l link.Link) {
	t.Helper()
	x, is := l.(*xdp.Link)
	if !is {
		return
	}
	t.Log(x.Setup())
	require.Equal(t, bpf.Generic, x.Setup().Mode)
	require.ErrorContains(t, x.Setup().WhyGeneric, "bond0")
}

// writeWhileTheCableBreaks has writes under way while the active cable breaks: at first
// packets are lost and nobody knows, then the carrier goes, and the bond sends on the
// other cable. It returns when the writes have succeeded.
func writeWhileTheCableBreaks(t *testing.T, x, y *ourEnd, b *netns.Netns) {
	t.Helper()
	const writes = 4
	x.fill(t, sourceOff, maxMessage, 7)
	require.NoError(t, b.Do(func() error { return unplug("b0") }))
	for i := range uint64(writes) {
		x.post(t, work{id: i, op: roce.OpWrite, off: sourceOff, n: maxMessage, at: y.remote(arrivalOff)})
	}
	for ctx := bounded(t); x.qp.Stats().Retransmitted == 0; runtime.Gosched() {
		require.NoError(t, ctx.Err(), "nothing was sent again")
	}
	require.NoError(t, b.Do(func() error { return setDown("b0") }))
	for _, wc := range x.completions(t, writes) {
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
	require.NoError(t, a.Do(func() error { return layCables(b) }))
	// The bridge first: the bond has its carrier at once if its members have theirs.
	require.NoError(t, b.Do(addBridge))
	require.NoError(t, a.Do(addBond))
	likeACable(t, b, "b0")
	likeACable(t, b, "b1")
	for _, end := range []struct {
		*netns.Netns
		ifname string
		addr   netip.Addr
	}{{a, "bond0", bondA}, {b, "br0", bridgeB}} {
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

// layCables lays two cables from the thread's namespace to another.
func layCables(far *netns.Netns) error {
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
	return nil
}

func addBridge() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "br0", 4200
	attrs.HardwareAddr = net.HardwareAddr{0x02, 0, 0, 0, 0, 0xb0} // else a member's, which leaves with that
	return enslave(&netlink.Bridge{LinkAttrs: attrs}, "b0", "b1")
}

func addBond() error {
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

// unplug takes an interface out of its bridge, which drops from then on what it brings.
func unplug(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetNoMaster(l)
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
