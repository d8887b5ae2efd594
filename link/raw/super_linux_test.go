package raw

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Packets of one size to one peer travel as one super-frame, with identifications
// from 0 on and the checksum the kernel wants to complete; where the kernel refuses
// it, as single frames with the same bytes.
func TestSuperFrameOnTheWire(t *testing.T) {
	for _, c := range []struct{ name, src, dst string }{
		{"IPv4", "10.9.0.1", "10.9.0.2"},
		{"IPv6", "fd09::1", "fd09::2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newNetwork(t, 1500)
			l, x := w.openA(), openTap(w.b, "vb")
			p := resolved(t, l, c.src, c.dst)
			for tag := range byte(5) {
				put(l.queue, p, tag, 1024)
			}
			put(l.queue, p, 5, 100) // the last may be shorter
			put(l.queue, p, 6, 100) // and then comes another super-frame
			flush(t, l.queue)
			require.Equal(t, uint64(1), counter(l, "raw: super-frames sent"))

			frame, _, f := x.nextRoCE()
			require.Len(t, f.Payload, 5*(12+1024+4)+12+100+4)
			require.Equal(t, uint16(0), f.ID)
			ip := frame[wire.EthernetLen:]
			require.Equal(t, wire.PseudoSum(ip, wire.UDPLen+len(f.Payload)), f.Checksum)
			for i := range 6 {
				packet := f.Payload[i*1040 : min((i+1)*1040, len(f.Payload))]
				require.Equal(t, byte(i), packet[0])
				require.True(t, wire.VerifyICRC(f.Src, f.Dst, f.SrcPort, f.Flags, uint16(i), [2][]byte{packet}))
			}
			_, _, f = x.nextRoCE()
			require.Equal(t, byte(6), f.Payload[0])
			require.Zero(t, f.ID)
			require.Zero(t, f.Checksum, "single packets have none")

			l.port.gsoType = unknownGSO
			for tag := range byte(3) {
				put(l.queue, p, tag, 1024)
			}
			flush(t, l.queue)
			require.False(t, l.SuperFrames())
			for i := range byte(3) {
				_, _, f = x.nextRoCE()
				require.Equal(t, i, f.Payload[0])
				require.True(t, wire.VerifyICRC(f.Src, f.Dst, f.SrcPort, f.Flags, f.ID, [2][]byte{f.Payload}))
			}
			put(l.queue, p, 7, 64)
			put(l.queue, p, 8, 64)
			flush(t, l.queue)
			for i := range byte(2) {
				_, _, f = x.nextRoCE()
				require.Equal(t, 7+i, f.Payload[0])
				require.Zero(t, f.ID)
			}
		})
	}
}

// A kernel that refuses many packets in a super-frame gets fewer, and only one that
// refuses those gets single frames.
func TestSuperFrameOfTooManyPackets(t *testing.T) {
	w := newNetwork(t, 1500)
	l, x := w.openA(), openTap(w.b, "vb")
	p := resolved(t, l, "10.9.0.1", "10.9.0.2")
	const n, packet = 100, 12 + 64 + wire.ICRCLen
	send := func() {
		for tag := range byte(n) {
			put(l.queue, p, tag, 64)
		}
		flush(t, l.queue)
	}
	expect := func(id uint16, packets int) {
		_, _, f := x.nextRoCE()
		require.Equal(t, id, f.ID)
		require.Len(t, f.Payload, packets*packet)
	}
	send()
	expect(0, n)

	for tag := range byte(n) {
		put(l.queue, p, tag, 64)
	}
	l.port.refuseSuperFrame(n)
	flush(t, l.queue)
	expect(0, outbox.OldSegments) // as they were numbered before
	expect(outbox.OldSegments, n-outbox.OldSegments)
	send()
	expect(0, outbox.OldSegments)
	expect(0, n-outbox.OldSegments)
	require.True(t, l.SuperFrames())

	l.port.refuseSuperFrame(outbox.OldSegments)
	require.False(t, l.SuperFrames())
}

// A device that can neither send super-frames nor compute checksums has the kernel do
// it: then each packet has its identification and a checksum.
func TestSuperFrameCutByTheKernel(t *testing.T) {
	w := newNetwork(t, 1500)
	w.a.do(func() { ethtool(t, "va", "tx", "off") })
	l, x := w.openA(), openTap(w.b, "vb")
	p := resolved(t, l, "10.9.0.1", "10.9.0.2")
	const n = 20
	for tag := range byte(n) {
		put(l.queue, p, tag, 1024)
	}
	flush(t, l.queue)
	require.Equal(t, uint64(1), counter(l, "raw: super-frames sent"))
	for i := range byte(n) {
		frame, _, f := x.nextRoCE()
		require.Equal(t, i, f.Payload[0])
		require.Equal(t, uint16(i), f.ID)
		require.True(t, wire.VerifyICRC(f.Src, f.Dst, f.SrcPort, f.Flags, f.ID, [2][]byte{f.Payload}))
		ip := frame[wire.EthernetLen:]
		udp := bytes.Clone(ip[wire.IPv4Len : wire.IPv4Len+wire.UDPLen])
		udp[6], udp[7] = 0, 0
		require.Equal(t, wire.UDPChecksum(ip, udp, f.Payload), f.Checksum)
	}
}

// Frames that the receiving kernel merges, since a UDP socket of the host has asked
// for that, arrive as the packets they were.
func TestFramesMergedByTheReceiver(t *testing.T) {
	w := newNetwork(t, 1500)
	w.a.do(func() { ethtool(t, "va", "gro", "on") })
	w.b.do(func() { ethtool(t, "vb", "tx-udp-segmentation", "off", "tso", "off") }) // single frames in a row
	a, b := w.openA(), w.openB()
	p := resolved(t, b, "10.9.0.2", "10.9.0.1")
	const n = 60
	for tag := range byte(n) {
		put(b.queue, p, tag, 1024)
	}
	flush(t, b.queue)
	var check wire.Verifier
	rx := make([]link.Rx, 64)
	frames := 0
	for received := byte(0); received < n; {
		got := a.queue.Recv(rx)
		for i := range rx[:got] {
			m, index := &rx[i].Meta, 0
			eachPacket(&rx[i], func(packet []byte) {
				if m.IDKnown {
					require.Equal(t, wire.ICRCGood, check.Verify(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, [2][]byte{packet}))
				} else {
					require.Equal(t, wire.ICRCGood, check.Infer(m.Src, m.Dst, m.SrcPort, index, [2][]byte{packet}))
				}
				received++
				index++
			})
		}
		frames += got
		a.queue.Release()
	}
	require.Less(t, frames, n)
	t.Logf("%d packets in %d frames", n, frames)
}

func ethtool(t *testing.T, ifname string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("ethtool"); err != nil {
		t.Skipf("needs ethtool, to set the device's features: %v; install the Debian package ethtool", err)
	}
	out, err := exec.Command("ethtool", append([]string{"-K", ifname}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// A call moves a bounded number of bytes, and a super-frame fits one.
func TestBurstBounds(t *testing.T) {
	w := newNetwork(t, 9000)
	l, there := w.openA(), w.openB()
	p := resolved(t, l, "10.9.0.1", "10.9.0.2")
	for range outbox.Packets {
		put(l.queue, p, 1, 4096)
	}
	build := func(super bool) (messages, packets, bytes int) {
		msgs := l.port.burst.build(&l.port.box, 0, super, gsoUDP)
		packets = l.port.burst.sent(len(msgs))
		return len(msgs), packets, packets * (12 + 4096 + wire.ICRCLen)
	}
	messages, packets, bytes := build(true)
	require.Equal(t, 1, messages)
	require.Equal(t, burstBytes/(12+4096+wire.ICRCLen), packets)
	require.LessOrEqual(t, bytes, mmsg.MaxBytes)
	messages, _, bytes = build(false)
	require.Equal(t, mmsg.MaxBytes/(12+4096+wire.ICRCLen), messages)
	require.LessOrEqual(t, bytes, mmsg.MaxBytes)
	flush(t, l.queue)
	await(t, there.queue, outbox.Packets)
}
