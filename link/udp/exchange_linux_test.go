package udp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Packets of every shape arrive whole, in order, with their metadata, and with an
// ICRC that is right for their place in the super-frame.
func TestExchange(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) {
		a, b := pair(t)
		exchange(t, a, b)
	})
	t.Run("IPv6 to itself", func(t *testing.T) {
		l := open(t, netip.IPv6Loopback())
		exchange(t, l, l)
	})
}

func exchange(t *testing.T, a, b *Link) {
	r := random(t)
	for _, class := range []uint8{0, uint8(wire.ECT0), 26<<2 | uint8(wire.CE)} {
		p := &wire.Path{Dst: b.addr, TrafficClass: class}
		require.NoError(t, a.Resolve(p))
		require.Equal(t, uint16(wire.Port), p.SrcPort)
		var want [][]byte
		for _, n := range []int{0, 1, 3, 64, 1024, 4092, 4093, 4095, 4096} {
			for _, mustCopy := range []bool{false, true} {
				pay := fill(r, make([]byte, n))
				put(a.queue, p, 12+4*len(want)%52, byte(len(want)), [][]byte{pay[:n/2], pay[n/2:]}, -n&3, mustCopy)
				put(a.queue, p, 28, byte(len(want)), [][]byte{pay}, -n&3, mustCopy)
				want = append(want, pay, pay)
			}
		}
		flush(t, a.queue)
		frames, metas := await(b.queue, len(want))
		for i, f := range frames {
			m := metas[i]
			require.True(t, wire.VerifyICRC(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, [2][]byte{f}), "packet %d", i)
			m.ID = 0
			require.Equal(t, link.Meta{Src: a.addr, Dst: b.addr, SrcPort: wire.Port, ECN: class & 3, Flags: wire.DontFragment}, m)
			end := len(f) - 4 - (-len(want[i]) & 3)
			require.Equal(t, want[i], append([]byte{}, f[end-len(want[i]):end]...))
		}
	}
	require.Equal(t, a.Stats().Sent, b.Stats().Received)
}

// Datagrams that cannot be packets: an empty one reaches the engine, which counts
// it; one too long is dropped and counted here.
func TestForeignDatagrams(t *testing.T) {
	l := open(t, nextLoopback())
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.addr, wire.Port)))
	require.NoError(t, err)
	defer c.Close()
	for _, n := range []int{0, outbox.MaxPacket, outbox.MaxPacket + 1, 65507, 1} {
		_, err := c.Write(make([]byte, n))
		require.NoError(t, err)
	}
	frames, _ := await(l.queue, 3)
	require.Len(t, frames[0], 0)
	require.Len(t, frames[1], outbox.MaxPacket)
	require.Len(t, frames[2], 1)
	require.Equal(t, uint64(2), l.Stats().TooLong)
	require.Equal(t, uint64(3), l.Stats().Received)

	// The same for the packets of super-frames.
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	for _, f := range []struct{ seg, size int }{{outbox.MaxPacket + 1, 3 * outbox.MaxPacket}, {10, 35}} {
		require.NoError(t, raw.Control(func(fd uintptr) {
			require.NoError(t, unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, f.seg))
		}))
		_, err = c.Write(make([]byte, f.size))
		require.NoError(t, err)
	}
	frames, _ = await(l.queue, 4)
	require.Len(t, frames[2], 10)
	require.Len(t, frames[3], 5)
	require.Equal(t, uint64(2+3), l.Stats().TooLong)
	require.Equal(t, uint64(3+4), l.Stats().Received)
	require.Equal(t, uint64(1), l.Stats().SuperReceived)
}

// Frames lent stay untouched until Release, and Recv lends no more than there are.
func TestLentFrames(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	const sent = 4*rxFrames + 10
	for i := range sent {
		put(a.queue, p, 12+i%2, byte(i), nil, 0, true) // lengths that make frames of two
		if a.queue.Room() == 0 || i == sent-1 {
			flush(t, a.queue)
		}
	}
	next := 0
	for next < sent {
		var lent []link.Rx
		for {
			rx := make([]link.Rx, 100)
			n := b.queue.Recv(rx)
			if n == 0 {
				break
			}
			lent = append(lent, rx[:n]...)
		}
		require.NotEmpty(t, lent)
		require.LessOrEqual(t, len(lent), rxFrames)
		for i := range lent {
			for _, p := range packetsOf(&lent[i]) {
				require.Equal(t, byte(next), p[0])
				next++
			}
		}
		b.queue.Release()
	}
	require.Equal(t, sent, next)
}

// A receive buffer that overflows shows in the statistics, a super-frame as one.
func TestOverrun(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	receive, _ := b.Buffers()
	payload := make([]byte, 4096)
	for range receive/len(payload)/outbox.Packets + 1 {
		for a.queue.Room() > 0 {
			put(a.queue, p, 12, 1, [][]byte{payload}, 0, false)
		}
		flush(t, a.queue)
	}
	rx := make([]link.Rx, 64)
	for b.queue.Recv(rx) > 0 {
		b.queue.Release()
	}
	s := b.Stats()
	require.Positive(t, s.Overrun)
	require.Equal(t, a.Stats().SuperSent, s.SuperReceived+s.Overrun)
}
