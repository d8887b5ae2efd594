package wire

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample returns headers with a different value in every field.
func sample(v6, vlan bool) Headers {
	h := Headers{
		SrcMAC: MAC{2, 0, 0, 0, 0, 1}, DstMAC: MAC{2, 0, 0, 0, 0, 2},
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
		SrcPort: 0xc123, DstPort: Port, TrafficClass: 0x6a, HopLimit: 63, Checksum: 0xbeef,
	}
	if v6 {
		h.Src, h.Dst = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
		h.FlowLabel = 0xabcde
	} else {
		h.ID, h.Flags = 0x1234, DontFragment
	}
	if vlan {
		h.VLAN = 3<<13 | 5
	}
	return h
}

func eachShape(t *testing.T, f func(t *testing.T, h Headers)) {
	for name, h := range map[string]Headers{
		"IPv4": sample(false, false), "IPv4 VLAN": sample(false, true),
		"IPv6": sample(true, false), "IPv6 VLAN": sample(true, true),
	} {
		t.Run(name, func(t *testing.T) { f(t, h) })
	}
}

func TestFrameRoundTrip(t *testing.T) {
	eachShape(t, func(t *testing.T, h Headers) {
		payload := []byte("sixteen bytes...")
		b := append(h.AppendFrame(nil, len(payload)), payload...)
		f, err := ParseFrame(b)
		require.NoError(t, err)
		require.Equal(t, Frame{h, payload}, f)

		f, err = ParseIP(b[len(h.appendEthernet(nil)):])
		require.NoError(t, err)
		h.SrcMAC, h.DstMAC, h.VLAN = MAC{}, MAC{}, 0
		require.Equal(t, Frame{h, payload}, f)
	})
}

func TestParseFrameTruncatedAtEveryLength(t *testing.T) {
	eachShape(t, func(t *testing.T, h Headers) {
		b := append(h.AppendFrame(nil, 8), make([]byte, 8)...)
		for n := range b {
			_, err := ParseFrame(b[:n:n])
			require.ErrorIs(t, err, ErrTruncated, "%d bytes", n)
		}
	})
}

// A frame in two pieces is read from the first, if that holds all headers.
func TestParseHeadersOfAPiece(t *testing.T) {
	eachShape(t, func(t *testing.T, h Headers) {
		headers := h.AppendFrame(nil, 4000)
		whole := len(headers) + 4000
		for piece := range 8 {
			b := append(headers[:len(headers):len(headers)], make([]byte, piece)...)
			got, payload, n, err := ParseHeaders(b, whole)
			require.NoError(t, err)
			require.Equal(t, h, got)
			require.Equal(t, []int{len(headers), 4000}, []int{payload, n})
			_, _, _, err = ParseHeaders(b, whole-1)
			require.ErrorIs(t, err, ErrTruncated, "the frame is shorter than its IP header says")
		}
		for n := range headers {
			_, _, _, err := ParseHeaders(headers[:n:n], whole)
			require.ErrorIs(t, err, ErrTruncated, "%d bytes", n)
		}
	})
}

func TestParseFrameIgnoresEthernetPadding(t *testing.T) {
	eachShape(t, func(t *testing.T, h Headers) {
		b := append(h.AppendFrame(nil, 8), "ABCDEFGH\xee\xee\xee\xee\xee"...)
		f, err := ParseFrame(b)
		require.NoError(t, err)
		require.Equal(t, "ABCDEFGH", string(f.Payload))
	})
}

func TestParseFrameRefuses(t *testing.T) {
	v4, v6 := sample(false, false), sample(true, false)
	for _, c := range []struct {
		name string
		h    Headers
		edit func(ip []byte)
		want error
	}{
		{"IPv4 options", v4, func(ip []byte) { ip[0] = 0x46 }, ErrOptions},
		{"IPv4 header length 4", v4, func(ip []byte) { ip[0] = 0x44 }, ErrOptions},
		{"IPv4 total length below the header", v4, func(ip []byte) { ip[2], ip[3] = 0, 19 }, ErrTruncated},
		{"IPv4 total length beyond the frame", v4, func(ip []byte) { ip[2] = 1 }, ErrTruncated},
		{"IPv4 first fragment", v4, func(ip []byte) { ip[6] |= 0x20 }, ErrFragment},
		{"IPv4 later fragment", v4, func(ip []byte) { ip[7] = 1 }, ErrFragment},
		{"IPv4 TCP", v4, func(ip []byte) { ip[9] = 6 }, ErrNotUDP},
		{"IPv4 header in name only", v4, func(ip []byte) { ip[0] = 0x65 }, ErrOptions},
		{"UDP length below its header", v4, func(ip []byte) { ip[24], ip[25] = 0, 7 }, ErrUDPLength},
		{"UDP length beyond IP", v4, func(ip []byte) { ip[25]++ }, ErrUDPLength},
		{"IP without room for UDP", v4, func(ip []byte) { ip[3] = 27 }, ErrUDPLength},
		{"IPv6 version", v6, func(ip []byte) { ip[0] = 0x40 }, ErrNotIP},
		{"IPv6 length beyond the frame", v6, func(ip []byte) { ip[4] = 1 }, ErrTruncated},
		{"IPv6 jumbogram", v6, func(ip []byte) { ip[4], ip[5] = 0, 0 }, ErrUDPLength},
		{"IPv6 hop-by-hop", v6, func(ip []byte) { ip[6] = 0 }, ErrExtension},
		{"IPv6 fragment", v6, func(ip []byte) { ip[6] = 44 }, ErrFragment},
		{"IPv6 ICMP", v6, func(ip []byte) { ip[6] = 58 }, ErrNotUDP},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := append(c.h.AppendFrame(nil, 8), make([]byte, 8)...)
			c.edit(b[EthernetLen:])
			_, err := ParseFrame(b)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestParseFrameRefusesEtherTypes(t *testing.T) {
	h := sample(false, true)
	b := h.AppendFrame(nil, 0)
	for at, types := range map[int][]uint16{12: {0x0806, 0x88a8, 0x8915, 0}, 16: {0x0806, 0x8100}} {
		for _, et := range types {
			bad := append([]byte(nil), b...)
			binary.BigEndian.PutUint16(bad[at:], et)
			_, err := ParseFrame(bad)
			require.ErrorIs(t, err, ErrNotIP, "%#04x at %d", et, at)
		}
	}
	_, err := ParseIP([]byte{0x50})
	require.ErrorIs(t, err, ErrNotIP)
}

func TestVectorsParse(t *testing.T) {
	for _, v := range vectors {
		f, err := ParseIP(v.ip)
		require.NoError(t, err, v.name)
		require.Equal(t, v.packet(), f.Payload, v.name)
		require.Equal(t, v.id, f.ID, v.name)
		// What was parsed rebuilds to the same bytes, IPv4 header checksum included.
		require.Equal(t, v.ip[:v.udp], f.AppendIP(nil, len(f.Payload)), v.name)
	}
}

func TestParseFrameDoesNotAllocate(t *testing.T) {
	h := sample(true, true)
	b := h.AppendFrame(nil, 0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := ParseFrame(b); err != nil {
			t.Error(err)
		}
	}))
}

// Whatever parses rebuilds to the bytes it came from.
func FuzzParseFrame(f *testing.F) {
	for _, v6 := range []bool{false, true} {
		for _, vlan := range []bool{false, true} {
			h := sample(v6, vlan)
			f.Add(append(h.AppendFrame(nil, 4), 1, 2, 3, 4))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseFrame(b)
		if err != nil {
			return
		}
		rebuilt := append(got.AppendFrame(nil, len(got.Payload)), got.Payload...)
		again, err := ParseFrame(rebuilt)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
