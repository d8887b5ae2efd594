package testwire

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// superOf is a super-frame of two packets of 64 bytes and one of 20, as a packet socket
// gives it: with the sum over the pseudo header alone.
func superOf(p *wire.Path) message {
	payload := make([]byte, 64+64+20)
	for i := range payload {
		payload[i] = byte(i)
	}
	h := p.Headers(0xffff)
	frame := append(h.AppendFrame(nil, len(payload)), payload...)
	m := append(make(message, vnetLen), frame...)
	m[0], m[1] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, unix.VIRTIO_NET_HDR_GSO_UDP_L4
	binary.NativeEndian.PutUint16(m[4:], 64)
	return m
}

// The packets of a super-frame are frames of their own, with consecutive
// identifications, right lengths and right checksums.
func TestSuperFramesAreCut(t *testing.T) {
	for _, p := range paths {
		whole, err := wire.ParseFrame(superOf(p).frame())
		require.NoError(t, err)
		frames, ok := superOf(p).cut(nil)
		require.True(t, ok)
		require.Len(t, frames, 3)
		for i, n := range []int{64, 64, 20} {
			h := p.Headers(0xffff + uint16(i))
			want := append(h.AppendFrame(nil, n), whole.Payload[64*i:][:n]...)
			q, ok := parsePacket(want)
			require.True(t, ok)
			q.sum()
			require.Equal(t, want, frames[i], "packet %d", i)
		}
	}
}

// A single packet is completed, in place; what is no packet stays whole.
func TestOtherMessages(t *testing.T) {
	for _, p := range paths {
		m := append(make(message, vnetLen), frameOf(p, 1)...)
		m[0] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM
		frames, ok := m.cut(nil)
		require.True(t, ok)
		require.Equal(t, [][]byte{m.frame()}, frames)
		tcp := superOf(p)
		tcp[1] = unix.VIRTIO_NET_HDR_GSO_TCPV4 // of a frame that says UDP
		_, ok = tcp.cut(nil)
		require.False(t, ok)
		_, ok = append(make(message, vnetLen), "no frame"...).cut(nil)
		require.False(t, ok)
	}
}
