package raw

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/wire"
)

// A tag with VLAN ID 0 is a priority: it arrives with its packet, and leaves as the
// path says, also on super-frames.
func TestPriorityTag(t *testing.T) {
	w := newNetwork(t, 1500)
	l, x := w.openA(), openTap(w.b, "vb")
	const priority = 5 << 13

	h := x.headers(macOf(w.a, "va"), "10.9.0.2", "10.9.0.1")
	h.VLAN = priority
	x.send(rocePacket(h, 1, 64))
	rx := make([]link.Rx, 1)
	for l.queue.Recv(rx) == 0 {
	}
	require.Equal(t, uint16(priority), rx[0].Meta.VLAN)
	l.queue.Release()

	p := &wire.Path{Src: addr("10.9.0.1"), Dst: addr("10.9.0.2"), SrcPort: 0xc001, VLAN: priority | 7}
	require.NoError(t, l.Resolve(p))
	require.Equal(t, uint16(priority), p.VLAN, "priority bits stay, the ID is the address's")
	for tag := range byte(4) {
		put(l.queue, p, tag, 512)
	}
	flush(t, l.queue)
	_, tag, f := x.nextRoCE()
	require.Equal(t, uint16(priority), tag)
	require.Len(t, f.Payload, 4*(12+512+4))
	require.Equal(t, uint64(1), counter(l, "raw: super-frames sent"))
	put(l.queue, p, 9, 512)
	flush(t, l.queue)
	_, tag, f = x.nextRoCE()
	require.Equal(t, uint16(priority), tag)
	require.Equal(t, byte(9), f.Payload[0])
}

// needVLAN skips the test where the kernel has no VLAN sub-interfaces.
func needVLAN(t *testing.T) {
	t.Helper()
	newNetwork(t, 1500).a.do(func() { // not on its loopback interface, which takes none
		if err := addVLAN("va", 5, "va.5"); errors.Is(err, unix.EOPNOTSUPP) {
			t.Skipf("needs VLAN sub-interfaces: adding one: %v; load the kernel module 8021q", err)
		}
	})
}

// addVLAN adds a VLAN sub-interface in the namespace of the calling thread.
func addVLAN(parent string, id int, name string) error {
	on, err := netlink.LinkByName(parent)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = name, on.Attrs().Index
	return netlink.LinkAdd(&netlink.Vlan{LinkAttrs: attrs, VlanId: id})
}

// upVLAN adds one with an address.
func upVLAN(ns namespace, parent string, id int, name, prefix string) {
	ns.t.Helper()
	ns.do(func() {
		require.NoError(ns.t, addVLAN(parent, id, name))
		up(ns.t, name)
		addAddresses(ns.t, name, prefix)
	})
}

// The addresses of VLAN sub-interfaces belong to the link of the interface below.
func TestConformanceOnVLAN(t *testing.T) {
	needVLAN(t)
	for _, c := range []struct{ name, ifname string }{{"by the interface below", "va"}, {"by the sub-interface", "va.5"}} {
		t.Run(c.name, func(t *testing.T) {
			linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
				w := newNetwork(t, 1500)
				upVLAN(w.a, "va", 5, "va.5", "10.5.0.1/24")
				upVLAN(w.b, "vb", 5, "vb.5", "10.5.0.2/24")
				a := openIn(w.a, c.ifname, Addrs(addr("10.5.0.1")))
				b := w.openB(Addrs(addr("10.5.0.2")))
				return linktest.Pair{A: a, B: b, Window: window(t, b)}
			})
		})
	}
}

// An address takes packets of its own VLAN only (E05).
func TestVLANsAreApart(t *testing.T) {
	needVLAN(t)
	w := newNetwork(t, 1500)
	upVLAN(w.a, "va", 5, "va.5", "10.5.0.1/24")
	upVLAN(w.a, "va", 6, "va.6", "10.6.0.1/24")
	l, x := w.openA(), openTap(w.b, "vb")
	require.Contains(t, l.Addrs(), addr("10.5.0.1"))
	require.Contains(t, l.Addrs(), addr("10.6.0.1"))
	mac := macOf(w.a, "va")
	for id, want := range []bool{5: true, 6: false, 7: false} {
		h := x.headers(mac, "10.5.0.2", "10.5.0.1")
		h.VLAN = uint16(id) | 3<<13
		x.send(rocePacket(h, byte(id), 64))
		h = x.headers(mac, "10.9.0.2", "10.9.0.1")
		x.send(rocePacket(h, 0xaa, 64))
		got := await(t, l.queue, 1)
		if want {
			got = append(got, await(t, l.queue, 2-len(got))...)
			require.Equal(t, byte(id), got[0][0])
		}
		require.Equal(t, byte(0xaa), got[len(got)-1][0])
	}
	only := openIn(w.a, "va.5")
	for _, a := range only.Addrs() {
		require.NotEqual(t, addr("10.9.0.1"), a)
		require.NotEqual(t, addr("10.6.0.1"), a)
	}
}
