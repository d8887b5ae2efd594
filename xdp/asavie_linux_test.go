//go:build amd64

// Package github.com/asavie/xdp relies on the order in which amd64 writes to memory.

package xdp

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	asavie "github.com/asavie/xdp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/wire"
)

// foreign is a host whose end of the veth is driven by github.com/asavie/xdp, with
// our XDP program: an AF_XDP socket that is not ours. It has no multi-buffer, and its
// Close leaves the queue bound until the process ends, so each needs a street of its
// own.
type foreign struct {
	socket *asavie.Socket
	filter *bpf.Filter
	host   *netns.Host
	mac    wire.MAC
}

const foreignFrames = 4096

func openForeign(t testing.TB, h *netns.Host) *foreign {
	t.Helper()
	f := &foreign{host: h}
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		if err != nil {
			return err
		}
		index := l.Attrs().Index
		copy(f.mac[:], l.Attrs().HardwareAddr)
		f.filter, err = bpf.Attach(bpf.Config{
			Interface: h.Interface, Index: index, Queues: 1, Addrs: []netip.Addr{h.IPv4, h.IPv6}, Mode: bpf.Native})
		if err != nil {
			return err
		}
		f.socket, err = asavie.NewSocket(index, 0, &asavie.SocketOptions{
			NumFrames: foreignFrames, FrameSize: 4096,
			FillRingNumDescs: 2048, CompletionRingNumDescs: 2048, RxRingNumDescs: 2048, TxRingNumDescs: 2048,
		})
		if err != nil {
			return err
		}
		return f.filter.SetSocket(0, f.socket.FD())
	}))
	t.Cleanup(func() {
		require.NoError(t, f.filter.Close())
		require.NoError(t, f.socket.Close())
	})
	f.fill()
	return f
}

// fill gives the kernel all frames that it can, up to half of them: the library has
// one list of free frames for both directions.
func (f *foreign) fill() {
	want := foreignFrames/2 - f.socket.NumFilled()
	f.socket.Fill(f.socket.GetDescs(min(want, f.socket.NumFreeFillSlots())))
}

// receive calls fn with each frame that has come, and returns their number.
func (f *foreign) receive(fn func(frame []byte)) int {
	n := f.socket.NumReceived()
	if n == 0 {
		return 0
	}
	for _, d := range f.socket.Receive(n) {
		fn(f.socket.GetFrame(d))
	}
	f.fill()
	return n
}

// send sends n packets, built by write into frames; it returns how many the socket
// had room for.
func (f *foreign) send(n int, write func(frame []byte) (size int)) int {
	f.socket.Complete(f.socket.NumCompleted())
	descs := f.socket.GetDescs(min(n, f.socket.NumFreeTxSlots()))
	for i := range descs {
		descs[i].Len = 4096
		descs[i].Len = uint32(write(f.socket.GetFrame(descs[i])))
	}
	if len(descs) > 0 {
		f.socket.Transmit(descs)
	}
	return len(descs)
}

// Packets between our link and a socket that is not ours arrive as they were sent, in
// both directions.
func TestForeignSocket(t *testing.T) {
	for _, mtu := range []int{1500, 3500} {
		for mode, option := range map[string]Option{"native": Native(), "generic": Generic()} {
			for _, family := range []string{"IPv4", "IPv6"} {
				t.Run(fmt.Sprintf("MTU %d %s %s", mtu, mode, family), func(t *testing.T) {
					s := netnstest.NewStreet(t, netns.Options{MTU: mtu})
					src, dst := s.A.IPv4, s.B.IPv4
					if family == "IPv6" {
						src, dst = s.A.IPv6, s.B.IPv6
					}
					l, f := openOn(t, s.A, option, Addrs(src)), openForeign(t, s.B)
					toForeign(t, l, f, dst)
					fromForeign(t, l, f, dst)
				})
			}
		}
	}
}

// pattern is the payload of packet i.
func pattern(i, size int) []byte {
	b := make([]byte, size)
	for at := range b {
		b[at] = byte(i + at*7)
	}
	return b
}

func toForeign(t *testing.T, l *Link, f *foreign, dst netip.Addr) {
	p := &wire.Path{Src: l.Addrs()[0], Dst: dst, SrcPort: 0xd001}
	require.NoError(t, l.Resolve(p))
	received := 0
	for i := range 1000 {
		payload := pattern(i, 4*(i%256))
		send(t, l.Queue(), p, byte(i), payload)
		for received <= i {
			f.receive(func(b []byte) {
				frame, err := wire.ParseFrame(b)
				require.NoError(t, err)
				require.Equal(t, f.mac, frame.DstMAC)
				require.Equal(t, uint8(wire.DefaultHopLimit), frame.HopLimit)
				require.True(t, wire.VerifyICRC(frame.Src, frame.Dst, frame.SrcPort, frame.Flags, frame.ID, [2][]byte{frame.Payload}))
				require.True(t, bytes.Equal(payload, frame.Payload[12:len(frame.Payload)-wire.ICRCLen]))
				received++
			})
		}
	}
	require.Equal(t, 1000, received)
}

func fromForeign(t *testing.T, l *Link, f *foreign, src netip.Addr) {
	p := &wire.Path{Src: l.Addrs()[0], Dst: src, SrcPort: 0xd001}
	require.NoError(t, l.Resolve(p))
	back := &wire.Path{Src: src, Dst: l.Addrs()[0], SrcPort: 0xd002, SrcMAC: p.DstMAC, DstMAC: p.SrcMAC}
	back.Prepare()
	for i := range 1000 {
		require.Equal(t, 1, f.send(1, func(frame []byte) int { return foreignPacket(frame, back, uint16(i), byte(i), pattern(i, 4*(i%256))) }))
		require.Equal(t, []byte{byte(i)}, await(t, l.Queue(), 1))
	}
}

// foreignPacket writes a packet into a frame and returns its length.
func foreignPacket(frame []byte, p *wire.Path, id uint16, tag byte, payload []byte) int {
	h := p.Headers(id)
	size := 12 + len(payload) + wire.ICRCLen
	b := h.AppendFrame(frame[:0], size)
	head := len(b)
	b = frame[:head+size]
	packet := b[head:]
	for i := range 12 {
		packet[i] = tag
	}
	copy(packet[12:], payload)
	p.Seal(id, packet[:12], [][]byte{packet[12 : 12+len(payload)]}, packet[size-wire.ICRCLen:])
	return len(b)
}
