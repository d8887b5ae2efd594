package raw

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// A peer behind a gateway gets frames with the gateway's MAC, and follows when that
// one moves.
func TestGateway(t *testing.T) {
	w := newNetwork(t, 1500)
	change(w.a, func() error {
		return netlink.RouteAdd(&netlink.Route{Dst: must(netlink.ParseIPNet("192.0.2.0/24")), Gw: addr("10.9.0.2").AsSlice()})
	})
	l, x := w.openA(), openTap(w.b, "vb")
	p := resolved(t, l, "10.9.0.1", "192.0.2.1")
	require.Equal(t, x.mac, p.DstMAC)
	send := func(to wire.MAC) {
		put(l.queue, p, 1, 64)
		flush(t, l.queue)
		frame, _, f := x.nextRoCE()
		require.Equal(t, to, wire.MAC(frame))
		require.Equal(t, addr("192.0.2.1"), f.Dst)
	}
	send(x.mac)
	moved := wire.MAC{2, 1, 1, 1, 1, 1}
	setMAC(w.b, "vb", moved)
	forget(w.b, w.a, "vb", "va", "10.9.0.2", "10.9.0.1")
	require.Equal(t, addr("192.0.2.1"), expectEvent(t, l, link.PeerMoved).Addr)
	send(moved)
}

// A peer that the routing table finds through another interface is refused with that
// one's name, unless both interfaces are in its network.
func TestOtherInterface(t *testing.T) {
	w := newNetwork(t, 1500)
	w.a.do(func() {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "vc"
		require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "vd"}))
		up(t, "vc")
		up(t, "vd")
		addAddresses(t, "vc", "10.8.0.1/24", "10.9.0.5/24")
	})
	hasten(w.a, "vc")
	l := w.openA()
	err := l.Resolve(&wire.Path{Src: addr("10.9.0.1"), Dst: addr("10.8.0.2")})
	require.ErrorContains(t, err, "leads through vc, not va")
	t.Log(err)
	own := &wire.Path{Src: addr("10.9.0.1"), Dst: addr("10.8.0.1")}
	require.NoError(t, l.Resolve(own), "an address of this host, on whatever interface")
	require.Zero(t, own.DstMAC)

	other := openIn(w.a, "vc")
	err = other.Resolve(&wire.Path{Src: addr("10.9.0.5"), Dst: addr("10.9.0.2")})
	require.ErrorContains(t, err, "neighbour 10.9.0.2 on vc", "the table says va, but it was looked for here")
}
