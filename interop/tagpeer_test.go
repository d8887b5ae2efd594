//go:build linux

package interop

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

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
	l := openIn(t, h.Netns, h.Interface+".5", openRaw)
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
	await(p.t, p.q, func() bool { return p.q.Recv(rx[:]) > 0 })
	defer p.q.Release()
	m, frag := rx[0].Meta, rx[0].Frag
	require.Equal(p.t, wire.ICRCGood, p.check.Verify(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, frag))
	whole := slices.Concat(frag[0], frag[1])
	require.NoError(p.t, packet.Parse(whole[:len(whole)-wire.ICRCLen], nil))
	return packet, m.VLAN
}
