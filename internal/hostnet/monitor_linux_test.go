package hostnet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// monitor opens a monitor in the namespace.
func (s side) monitor() *Monitor {
	s.t.Helper()
	m, err := s.handle().NewMonitor()
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, m.Close()) })
	return m
}

// until takes changes up to the first that fits. One that does not come is a failure,
// not a hang.
func until(t *testing.T, m *Monitor, what string, fits func(Change) bool) Change {
	t.Helper()
	deadline := time.After(20 * time.Second)
	var seen []string
	for {
		select {
		case c, ok := <-m.Changes():
			require.True(t, ok, "the monitor ended")
			if fits(c) {
				return c
			}
			seen = append(seen, c.String())
		case <-deadline:
			t.Fatalf("no change %q; seen: %q", what, seen)
		}
	}
}

func untilKind(t *testing.T, m *Monitor, kind ChangeKind, index int) Change {
	t.Helper()
	return until(t, m, fmt.Sprintf("kind %d of interface %d", kind, index),
		func(c Change) bool { return c.Kind == kind && c.IfIndex == index })
}

func TestLinkChangesAreReported(t *testing.T) {
	a, b := newSides(t)
	m := a.monitor()
	l := a.link("va")

	a.do(func() { require.NoError(t, netlink.LinkSetMTU(l, 1400)) })
	require.Equal(t, Change{Kind: LinkChanged, IfIndex: a.index, Up: true, MTU: 1400, MAC: a.mac}, untilKind(t, m, LinkChanged, a.index))
	b.down("vb") // takes the carrier away here
	require.False(t, untilKind(t, m, LinkChanged, a.index).Up)
	b.up("vb")
	require.True(t, untilKind(t, m, LinkChanged, a.index).Up)
	a.down("va")
	require.False(t, untilKind(t, m, LinkChanged, a.index).Up)
	a.up("va")
	require.True(t, untilKind(t, m, LinkChanged, a.index).Up)

	bl := b.link("vb")
	b.do(func() { require.NoError(t, netlink.LinkDel(bl)) })
	until(t, m, "removal of the address", func(c Change) bool { return c.Kind == AddrRemoved && c.Addr == addr("10.9.0.1") })
	untilKind(t, m, LinkDeleted, a.index)
}

func TestAddressChangesAreReported(t *testing.T) {
	a, _ := newSides(t)
	m := a.monitor()
	for s, prefix := range map[string]string{"10.9.0.5": "10.9.0.5/24", "fd09::5": "fd09::5/64"} {
		a.addAddress("va", prefix)
		require.Equal(t, Change{Kind: AddrAdded, IfIndex: a.index, Addr: addr(s)}, untilKind(t, m, AddrAdded, a.index))
		a.removeAddress("va", prefix)
		require.Equal(t, Change{Kind: AddrRemoved, IfIndex: a.index, Addr: addr(s)}, untilKind(t, m, AddrRemoved, a.index))
	}
}

func TestAMovedNeighbourIsReported(t *testing.T) {
	a, b := newSides(t)
	m := a.monitor()
	_, err := a.handle().Neighbour(t.Context(), a.index, addr("10.9.0.2"))
	require.NoError(t, err)
	require.Equal(t, Change{Kind: NeighbourChanged, IfIndex: a.index, Addr: addr("10.9.0.2"), MAC: b.mac}, untilKind(t, m, NeighbourChanged, a.index))

	bl := b.link("vb")
	b.do(func() { require.NoError(t, netlink.LinkSetHardwareAddr(bl, []byte{2, 0, 0, 0, 0, 0x22})) })
	a.sysctl("net/ipv4/neigh/va/locktime", "0")                 // also in the second after a learned the old one
	_, err = b.handle().Neighbour(t.Context(), b.index, a.IPv4) // who asks tells its own MAC
	require.NoError(t, err)
	c := until(t, m, "another MAC", func(c Change) bool { return c.Kind == NeighbourChanged && c.Addr == addr("10.9.0.2") })
	require.Equal(t, wire.MAC{2, 0, 0, 0, 0, 0x22}, c.MAC)
}

func TestALostNeighbourIsReported(t *testing.T) {
	a, b := newSides(t)
	m := a.monitor()
	_, err := a.handle().Neighbour(t.Context(), a.index, b.IPv6)
	require.NoError(t, err)
	untilKind(t, m, NeighbourChanged, a.index)
	a.do(func() {
		require.NoError(t, netlink.NeighDel(&netlink.Neigh{LinkIndex: a.index, IP: addr("fd09::2").AsSlice()}))
	})
	require.Equal(t, Change{Kind: NeighbourLost, IfIndex: a.index, Addr: addr("fd09::2")}, untilKind(t, m, NeighbourLost, a.index))
}

// A bridge tells of an interface that leaves it in a message that looks like that of
// a deleted one.
func TestLeavingABridgeIsNoDeletion(t *testing.T) {
	a, _ := newSides(t)
	l := a.link("va")
	bridge := &netlink.Bridge{LinkAttrs: named("br0")}
	a.add(bridge, "CONFIG_BRIDGE")
	a.do(func() { require.NoError(t, netlink.LinkSetMaster(l, bridge)) })
	m := a.monitor()
	a.do(func() {
		require.NoError(t, netlink.LinkSetNoMaster(l))
		require.NoError(t, netlink.LinkSetMTU(l, 1300))
	})
	until(t, m, "the MTU", func(c Change) bool {
		require.NotEqual(t, LinkDeleted, c.Kind)
		return c.IfIndex == a.index && c.MTU == 1300
	})
}

// Nobody takes the changes until far more happened than the kernel keeps; afterwards
// the monitor knows the last state of everything.
func TestNothingIsLostWhenTheKernelOverflows(t *testing.T) {
	a, _ := newSides(t)
	m := a.monitor()
	l := a.link("va")
	require.NoError(t, m.events.conn.Control(func(fd uintptr) {
		require.NoError(t, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096))
	}))
	a.do(func() {
		for n := range 600 {
			require.NoError(t, netlink.LinkSetMTU(l, 1300+n%100))
		}
		require.NoError(t, netlink.LinkSetMTU(l, 1450))
		added, err := netlink.ParseAddr("10.8.0.6/24")
		require.NoError(t, err)
		require.NoError(t, netlink.AddrAdd(l, added))
	})
	a.removeAddress("va", "10.9.0.1/24")
	var mtu, changes int
	var added, removed bool
	until(t, m, "last state", func(c Change) bool {
		changes++
		if c.Kind == LinkChanged && c.IfIndex == a.index {
			mtu = c.MTU
		}
		added = added || c == Change{Kind: AddrAdded, IfIndex: a.index, Addr: addr("10.8.0.6")}
		removed = removed || c == Change{Kind: AddrRemoved, IfIndex: a.index, Addr: addr("10.9.0.1")}
		return mtu == 1450 && added && removed
	})
	require.Less(t, changes, 600, "the kernel kept all: nothing overflowed")
	t.Logf("%d changes reported of 603", changes)
}

func TestClosingAMonitorEndsItsChannel(t *testing.T) {
	a, _ := newSides(t)
	m := a.monitor()
	l := a.link("va")
	a.do(func() { // more than the channel holds: run is blocked in it
		for n := range 100 {
			require.NoError(t, netlink.LinkSetMTU(l, 1300+n))
		}
	})
	require.NoError(t, m.Close())
	for range m.Changes() {
	}
	require.NoError(t, m.Close())
}
