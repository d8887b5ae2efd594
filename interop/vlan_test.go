//go:build linux

package interop

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
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
	s, err := netns.NewStreet(netns.Options{MTU: mtu})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, end := range []struct {
		*netns.Host
		addr netip.Addr
	}{{s.A, vlanA}, {s.B, vlanB}} {
		awaitCarrier(t, end.Netns, end.Interface)
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
	dev, err := roce.Open(openLinkOn(t, s.A, s.A.Interface, open))
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

// newEnd makes an unconnected end of ours on one of a device's addresses.
func newEnd(t *testing.T, dev *roce.Device, addr netip.Addr) *ourEnd {
	t.Helper()
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	e := &ourEnd{}
	e.mem, err = pd.RegMR(make([]byte, memorySize), allRights)
	require.NoError(t, err)
	e.cq, err = dev.CreateCQ(128)
	require.NoError(t, err)
	index := slices.IndexFunc(dev.GIDs(), func(g roce.GID) bool { return g.Addr() == addr })
	require.GreaterOrEqual(t, index, 0, "%v is none of %v", addr, dev.GIDs())
	e.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: e.cq, GIDIndex: index})
	require.NoError(t, err)
	return e
}

// openLinkOn opens a link on an interface of a host.
func openLinkOn(t *testing.T, h *netns.Host, ifname string, open openInterface) (l link.Link) {
	t.Helper()
	require.NoError(t, h.Do(func() (err error) {
		l, err = open(ifname)
		return err
	}))
	return l
}

// likeACable has an interface send what cables carry: each packet in a frame of its
// own, with its VLAN tag in it. Within a host the kernel leaves tags beside frames and
// packets in super-frames, which an XDP program sees not or not always.
func likeACable(t *testing.T, n *netns.Netns, ifname string) {
	t.Helper()
	_, err := n.Run(t.Context(), "ethtool", "-K", ifname, "txvlan", "off", "tx-udp-segmentation", "off")
	require.NoError(t, err)
}

// tagPeer is the far end of a connection, made by hand: it sends packets with any tag.
type tagPeer struct {
	t      *testing.T
	socket int // AF_PACKET
	q      link.Queue
	path   wire.Path
	check  wire.Verifier
}

const peerQPN = 0x4242

func newTagPeer(t *testing.T, h *netns.Host) *tagPeer {
	t.Helper()
	p := &tagPeer{t: t, path: wire.Path{Src: vlanB, Dst: vlanA, SrcPort: 0xc000}}
	l := openLinkOn(t, h, h.Interface+".5", openRaw)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	require.NoError(t, l.Resolve(&p.path))
	p.q = l.Queue()
	require.NoError(t, h.Do(func() (err error) {
		if p.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		base, err := netlink.LinkByName(h.Interface)
		if err != nil {
			return err
		}
		return unix.Bind(p.socket, &unix.SockaddrLinklayer{Ifindex: base.Attrs().Index})
	}))
	t.Cleanup(func() { unix.Close(p.socket) })
	return p
}

// send sends the connection's first packet, a SEND, with a tag; 0 is none.
func (p *tagPeer) send(qpn uint32, tag uint16, message string) {
	p.t.Helper()
	h := bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: qpn, PSN: firstPSN, AckReq: true, Pad: bth.PadFor(len(message))}
	head := make([]byte, h.Opcode.HeaderLen())
	h.PutHeaders(head)
	tail := make([]byte, int(h.Pad)+wire.ICRCLen)
	p.path.Seal(0, head, [][]byte{[]byte(message)}, tail)
	ip := p.path.Headers(0)
	ip.VLAN = tag
	payload := slices.Concat(head, []byte(message), tail)
	_, err := unix.Write(p.socket, append(ip.AppendFrame(nil, len(payload)), payload...))
	require.NoError(p.t, err)
}

// recv returns the next packet that is for the peer, which must be whole, and its tag.
func (p *tagPeer) recv() (packet bth.Packet, tag uint16) {
	p.t.Helper()
	var rx [1]link.Rx
	end := p.q.Now().Add(stepTimeout)
	for p.q.Recv(rx[:]) == 0 {
		require.Less(p.t, p.q.Now(), end, "no packet came")
		p.q.Arm(min(end, clock.Never), link.Interest{Rx: true})
		p.q.Park()
		p.q.Disarm()
	}
	defer p.q.Release()
	m, frag := rx[0].Meta, rx[0].Frag
	require.Equal(p.t, wire.ICRCGood, p.check.Verify(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, frag))
	whole := slices.Concat(frag[0], frag[1])
	require.NoError(p.t, packet.Parse(whole[:len(whole)-wire.ICRCLen], nil))
	return packet, m.VLAN
}

// testTaggedTransfer moves data between a link that writes and reads tags itself and
// the kernel's UDP on its VLAN interface, in packets of the largest size.
func testTaggedTransfer(t *testing.T, open openInterface) {
	s := vlanStreet(t, 4192)
	likeACable(t, s.B.Netns, s.B.Interface)
	a := openLinkOn(t, s.A, s.A.Interface+".5", open)
	b := openLinkOn(t, s.B, s.B.Interface+".5", func(string) (link.Link, error) { return udp.Open(vlanB) })
	x, y := connectEnds(t, a, b, vlanA, vlanB, s.B)
	require.Equal(t, link.PathMTU(a.MTU()), x.qp.Attr().PathMTU)
	writeBothWays(t, x, y, 40)
	t.Logf("path MTU %d, %+v", x.qp.Attr().PathMTU, x.qp.Stats())
}

// connectEnds opens a device on each link and connects an end of one to an end of the
// other. The second link is one on the kernel's sockets in the namespace of a host.
func connectEnds(t *testing.T, a, b link.Link, addrA, addrB netip.Addr, hostB *netns.Host) (x, y *ourEnd) {
	t.Helper()
	for _, e := range []struct {
		link.Link
		netip.Addr
		end **ourEnd
	}{{a, addrA, &x}, {b, addrB, &y}} {
		dev, err := roce.Open(e.Link)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		*e.end = newEnd(t, dev, e.Addr)
	}
	require.NoError(t, x.qp.Connect(y.qp.Info()))
	require.NoError(t, hostB.Do(func() error { return y.qp.Connect(x.qp.Info()) }))
	return x, y
}

// writeBothWays has each end write n messages into the other's memory and compares it.
func writeBothWays(t *testing.T, x, y *ourEnd, n int) {
	t.Helper()
	for i, ends := range [][2]*ourEnd{{x, y}, {y, x}} {
		from, to := ends[0], ends[1]
		for k := range n {
			seed := uint64(100*i + k)
			from.fill(t, sourceOff, maxMessage, seed)
			from.post(t, work{id: uint64(k), op: roce.OpWrite, off: sourceOff, n: maxMessage, at: to.remote(arrivalOff)})
			require.Equal(t, roce.StatusSuccess, from.completions(t, 1)[0].status, "WRITE %d over %s:\n%v\nto %s:\n%v",
				k, from.qp.PD().Device().Name(), from.qp.PD().Device().Stats(), to.qp.PD().Device().Name(), to.qp.PD().Device().Stats())
			want := guest.Pattern(seed, maxMessage)
			to.sync()
			require.True(t, slices.Equal(want, to.mem.Bytes()[arrivalOff:arrivalOff+maxMessage]), "message %d arrived changed", k)
		}
	}
}
