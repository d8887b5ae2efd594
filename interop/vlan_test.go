//go:build linux

package interop

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
	"github.com/rocinante-rdma/roce/xdp"
)

// The VLAN of the tests, and both ends' addresses on it.
const (
	ourVLAN   = 5
	otherVLAN = 6
)

var vlanA, vlanB = netip.MustParseAddr("10.5.0.1"), netip.MustParseAddr("10.5.0.2")

// vlanStreet is a street whose both ends have addresses on a VLAN.
func vlanStreet(t *testing.T, mtu int) *netns.Street {
	t.Helper()
	s := netnstest.NewStreet(t, netns.Options{MTU: mtu})
	for _, end := range []struct {
		*netns.Host
		addr netip.Addr
	}{{s.A, vlanA}, {s.B, vlanB}} {
		require.NoError(t, end.Do(func() error { return addVLAN(end.Interface, ourVLAN, end.addr) }))
	}
	return s
}

func addVLAN(ifname string, id int, addr netip.Addr) error {
	base, err := netlink.LinkByName(ifname)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = ifname+".5", base.Attrs().Index
	v := &netlink.Vlan{LinkAttrs: attrs, VlanId: id, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
	if err := netlink.LinkAdd(v); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(v); err != nil {
		return err
	}
	return netns.AddAddress(v, netip.PrefixFrom(addr, 24).String())
}

// testOnlyItsVLAN: a connection between addresses on a VLAN takes packets of that VLAN
// alone, whatever their priority bits, and sends its own with the tag and the priority
// bits of its service level. A packet of the largest size is on the wire as a whole.
func testOnlyItsVLAN(t *testing.T, open openInterface) {
	const serviceLevel = 3
	s := vlanStreet(t, 4192) // the least for a path MTU of 4,096
	dev, err := roce.Open(openIn(t, s.A.Netns, s.A.Interface, open))
	require.NoError(t, err)
	defer dev.Close()
	peer := newTagPeer(t, s.B)

	e := newEnd(t, dev, vlanA)
	require.NoError(t, e.qp.Connect(roce.Info{GID: vlanB, QPN: peerQPN, PSN: firstPSN, MTU: 4096, RdAtomic: 1},
		roce.WithServiceLevel(serviceLevel)))
	e.postRecv(t, 1, 0, 64)
	for _, p := range []struct {
		tag     uint16
		message string
	}{{0, "untagged"}, {otherVLAN, "another VLAN"}, {ourVLAN | 6<<wire.VLANPriorityShift, "the VLAN"}} {
		peer.send(e.qp.QPN(), p.tag, p.message)
	}
	wc := e.completions(t, 1)[0]
	require.Equal(t, roce.StatusSuccess, wc.status)
	require.Equal(t, "the VLAN", string(e.mem.Bytes()[:wc.bytes]), "the message that was taken")
	require.Contains(t, dev.Stats(), roce.Counter{Name: "nic: dropped, not on the VLAN of its address", Value: 2})

	ack, tag := peer.recv()
	require.Equal(t, bth.RCAcknowledge, ack.Opcode)
	require.Equal(t, uint16(ourVLAN|serviceLevel<<wire.VLANPriorityShift), tag, "tag of the acknowledgement")

	largest := e.qp.Attr().PathMTU
	e.fill(t, 0, largest, 1)
	e.post(t, work{id: 2, op: roce.OpWriteImm, n: largest, at: target{addr: 0x1000, key: 1}})
	write, tag := peer.recv()
	require.Equal(t, uint16(ourVLAN|serviceLevel<<wire.VLANPriorityShift), tag, "tag of the WRITE")
	require.Equal(t, bth.RCWriteOnlyImm, write.Opcode)
	require.Equal(t, guest.Pattern(1, largest), slices.Concat(write.Payload[0], write.Payload[1]))
}

// testTagsBeside: a veth gives a frame as the kernel at its other end left it, which is
// with the tag beside it. XDP sees none, whatever the receiving end is told; the packet
// is dropped and counted. The sending end puts the tag in if it is told so.
func testTagsBeside(t *testing.T) {
	s := vlanStreet(t, 1500)
	_, err := s.A.Run(t.Context(), "ethtool", "-K", s.A.Interface, "rxvlan", "off")
	require.NoError(t, err)
	l := openIn(t, s.A.Netns, s.A.Interface, openXDP()).(*xdp.Link)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	dropped := link.Counter{Name: "nic: dropped, not on the VLAN of its address", Value: 1}

	sendDatagram(t, s.B.Netns, vlanB, vlanA)
	await(t, l.Queue(), func() bool {
		require.Zero(t, l.Queue().Recv(make([]link.Rx, 1)), "a packet arrived")
		return slices.Contains(l.Counters(), dropped)
	})
	_, err = s.B.Run(t.Context(), "ethtool", "-K", s.B.Interface, "txvlan", "off")
	require.NoError(t, err)
	sendDatagram(t, s.B.Netns, vlanB, vlanA)
	var rx [1]link.Rx
	await(t, l.Queue(), func() bool { return l.Queue().Recv(rx[:]) > 0 })
	require.Equal(t, uint16(ourVLAN), rx[0].Meta.VLAN)
	l.Queue().Release()
}

// sendDatagram sends a UDP packet to port 4791 through the kernel of a namespace.
func sendDatagram(t *testing.T, n *netns.Netns, from, to netip.Addr) {
	t.Helper()
	require.NoError(t, n.Do(func() error {
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, wire.Port)))
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(make([]byte, 64))
		return err
	}))
}

// likeACable has an interface send what cables carry: each packet in a frame of its
// own, with its VLAN tag in it. Within a host the kernel leaves tags beside frames and
// packets in super-frames, which an XDP program sees not or not always.
func likeACable(t *testing.T, n *netns.Netns, ifname string) {
	t.Helper()
	_, err := n.Run(t.Context(), "ethtool", "-K", ifname, "txvlan", "off", "tx-udp-segmentation", "off")
	require.NoError(t, err)
}

// testTaggedTransfer moves data between a link that writes and reads tags itself and
// the kernel's UDP on its VLAN interface, in packets of the largest size.
func testTaggedTransfer(t *testing.T, open openInterface) {
	s := vlanStreet(t, 4192)
	likeACable(t, s.B.Netns, s.B.Interface)
	a := openIn(t, s.A.Netns, s.A.Interface+".5", open)
	b := openIn(t, s.B.Netns, s.B.Interface+".5", func(string) (link.Link, error) { return udp.Open(vlanB) })
	x, y := connectEnds(t, a, b, vlanA, vlanB, s.B.Netns)
	require.Equal(t, link.PathMTU(a.MTU()), x.qp.Attr().PathMTU)
	writeBothWays(t, x, y, 40)
	t.Logf("path MTU %d, %+v", x.qp.Attr().PathMTU, x.qp.Stats())
}
