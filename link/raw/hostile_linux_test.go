package raw

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// What arrives and is no packet for the link does not reach the engine, is counted if
// the filter in the kernel lets it pass, and harms nothing that follows.
func TestFramesFromTheWire(t *testing.T) {
	w := newNetwork(t, 1500)
	l, x := w.openA(), openTap(w.b, "vb")
	mac := macOf(w.a, "va")
	good := rocePacket(x.headers(mac, "10.9.0.2", "10.9.0.1"), 1, 64)
	good6 := rocePacket(x.headers(mac, "fd09::2", "fd09::1"), 1, 64)
	ip := wire.EthernetLen
	udp := ip + wire.IPv4Len

	for _, c := range []struct {
		name    string
		frame   []byte
		counter string // "": the filter drops it
	}{
		{"other port", with(good, udp+2, 0x12, 0xb6), ""},
		{"not ours", with(good, ip+16, 10, 9, 0, 77), ""},
		{"not ours, IPv6", with(good6, ip+39, 77), ""},
		{"first fragment", with(good, ip+6, 0x20, 0), ""},
		{"later fragment", with(good, ip+6, 0, 1), ""},
		{"options", with(good, ip, 0x46), ""},
		{"TCP", with(good, ip+9, 6), ""},
		{"extension header", with(good6, ip+6, 0), ""},
		{"ARP", with(good, 12, 8, 6), ""},
		{"802.1ad", tagged(good, 0x88a8, 5), "raw: dropped, tag of a provider's VLAN"},
		{"other VLAN", tagged(good, 0x8100, 5), "nic: dropped, not on the VLAN of its address"},
		{"two tags", tagged(tagged(good, 0x8100, 5), 0x8100, 5), ""},
		{"other MAC", with(good, 0, 2, 2, 2, 2, 2, 2), "nic: dropped, not for the interface's MAC"},
		{"IP longer than the frame", with(good, ip+2, 0xff, 0xff), "nic: dropped, shorter than its headers say"},
		{"IP shorter than UDP", with(good, ip+2, 0, 27), "nic: dropped, impossible UDP length"},
		{"IP shorter than itself", with(good, ip+2, 0, 19), "nic: dropped, shorter than its headers say"},
		{"UDP longer than IP", with(good, udp+4, 0xff, 0xff), "nic: dropped, impossible UDP length"},
		{"UDP shorter than itself", with(good, udp+4, 0, 7), "nic: dropped, impossible UDP length"},
		{"cut in UDP", good[:udp+7], "nic: dropped, shorter than its headers say"},
		{"cut in IP", good[:ip+18], ""},
		{"IPv6 longer than the frame", with(good6, ip+4, 0xff, 0xff), "nic: dropped, shorter than its headers say"},
		{"IPv6 without UDP", with(good6, ip+4, 0, 3), "nic: dropped, impossible UDP length"},
		{"only Ethernet", good[:ip], ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := counter(l, c.counter)
			x.send(c.frame)
			x.send(with(good, udp+wire.UDPLen, 0xaa))
			require.Equal(t, byte(0xaa), await(t, l.queue, 1)[0][0])
			if c.counter != "" {
				require.Equal(t, before+1, counter(l, c.counter), "%v", l.Counters())
			}
		})
	}
	t.Log(l.Counters())
}

// Any number of frames that are dropped leaves room for those that are not, though
// nothing is released where nothing was received.
func TestDroppedFramesTakeNoRoom(t *testing.T) {
	w := newNetwork(t, 1500)
	l, x := w.openA(), openTap(w.b, "vb")
	h := x.headers(macOf(w.a, "va"), "10.9.0.2", "10.9.0.1")
	bad := with(rocePacket(h, 1, 64), 0, 2, 2, 2, 2, 2, 2)
	rx := make([]link.Rx, 32)
	for range 3 * rxFrames {
		x.send(bad)
		require.Zero(t, l.queue.Recv(rx))
	}
	for range 3 * rxFrames {
		x.send(bad)
	}
	x.send(rocePacket(h, 7, 64))
	for end := l.queue.Now().Add(patience); l.queue.Recv(rx) == 0; {
		require.Less(t, l.queue.Now(), end, "the good frame never came")
	}
	require.Equal(t, byte(7), rx[0].Frag[0][0])
	require.Equal(t, uint64(6*rxFrames), counter(l, "nic: dropped, not for the interface's MAC"))
}

// Frames altered at random.
func TestRandomFramesFromTheWire(t *testing.T) {
	w := newNetwork(t, 1500)
	l, x := w.openA(), openTap(w.b, "vb")
	mac := macOf(w.a, "va")
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	good := [][]byte{
		rocePacket(x.headers(mac, "10.9.0.2", "10.9.0.1"), 1, 64), rocePacket(x.headers(mac, "fd09::2", "fd09::1"), 1, 64),
	}
	for range 3000 {
		frame := append([]byte{}, good[r.IntN(2)]...)
		for range 1 + r.IntN(3) {
			frame[r.IntN(70)] = byte(r.Uint32())
		}
		x.send(frame[:14+r.IntN(len(frame)-14+1)])
		if r.IntN(50) == 0 {
			x.send(with(good[0], 42, 0xaa, 0xaa, 0xaa))
			for found := false; !found; {
				for _, p := range await(t, l.queue, 1) {
					found = found || len(p) > 3 && p[0] == 0xaa && p[1] == 0xaa && p[2] == 0xaa
				}
			}
		}
	}
	t.Log(l.Counters())
}

// What the kernel says of a frame is not trusted either.
func TestVirtioHeaders(t *testing.T) {
	for _, c := range []struct {
		h   vnetHeader
		seg int
		ok  bool
	}{
		{vnetHeader{}, 0, true},
		{vnetHeader{flags: needsChecksum, headers: 42}, 0, true},
		{vnetHeader{gsoType: gsoUDP, segment: 1024}, 1024, true},
		{vnetHeader{gsoType: gsoUDP | gsoECN, segment: 1024}, 1024, true},
		{vnetHeader{gsoType: gsoUDP}, 0, false},             // no size
		{vnetHeader{gsoType: 3, segment: 1480}, 0, false},   // IP fragments of one datagram
		{vnetHeader{gsoType: 1, segment: 1460}, 0, false},   // TCP
		{vnetHeader{gsoType: 0x7f, segment: 64}, 0, false},  // nobody's
		{vnetHeader{gsoType: gsoNone, segment: 7}, 0, true}, // size of nothing
	} {
		seg, ok := segmentOf(c.h)
		require.Equal(t, c.ok, ok, "%+v", c.h)
		if ok {
			require.Equal(t, c.seg, seg, "%+v", c.h)
		}
		var b [vnetLen]byte
		c.h.put(b[:])
		require.Equal(t, c.h, parseVnet(b[:]))
	}
}

// A message shorter than its virtio header, cut, or without the auxiliary data, is
// dropped and counted.
func TestMessagesThatAreNotWhole(t *testing.T) {
	w := newNetwork(t, 1500)
	l := w.openA()
	p := l.port
	var rx link.Rx
	control := func(b []byte) []byte {
		h := (*unix.Cmsghdr)(ptr(b))
		h.Level, h.Type = unix.SOL_PACKET, unix.PACKET_AUXDATA
		h.SetLen(unix.CmsgLen(20))
		return b
	}
	m := &p.rx.msgs[0]
	for n := range uint32(vnetLen) {
		m.N = n
		require.False(t, p.accept(0, &rx))
	}
	require.Equal(t, uint64(vnetLen), counter(l, "raw: dropped, shorter than its virtio header"))

	m.N, m.Flags = vnetLen+100, unix.MSG_TRUNC
	require.False(t, p.accept(0, &rx))
	require.Equal(t, uint64(1), counter(l, "raw: dropped, longer than any frame"))

	m.Flags = 0
	for n := range unix.CmsgLen(20) {
		m.SetControllen(n)
		control(p.rx.control[0][:])
		require.False(t, p.accept(0, &rx))
	}
	m.SetControllen(unix.CmsgLen(20))
	require.False(t, p.accept(0, &rx), "100 zero bytes are no frame")
	require.Equal(t, uint64(1), counter(l, "nic: dropped, neither IPv4 nor IPv6"))
}

// with returns a copy of a frame with other bytes from at on.
func with(frame []byte, at int, b ...byte) []byte {
	frame = append([]byte{}, frame...)
	copy(frame[at:], b)
	return frame
}

// tagged returns a copy of a frame with a VLAN tag.
func tagged(frame []byte, etherType, tci uint16) []byte {
	tag := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, etherType), tci)
	return append(append(append([]byte{}, frame[:12]...), tag...), frame[12:]...)
}
