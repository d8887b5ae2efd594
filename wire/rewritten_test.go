package wire

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// W06: a frame is rewritten on its way, its checksums made right again. What routers change
// (TTL, DSCP, ECN, hop limit, flow label, checksums) leaves the ICRC right; what address
// translators change (addresses, the UDP source port, the IPv4 identification) does not.
func TestFramesRewrittenOnTheWay(t *testing.T) {
	const v4, v6 = EthernetLen, EthernetLen
	for name, c := range map[string]struct {
		family int
		at     int // offset of the byte that changes, in the frame
		good   bool
	}{
		"IPv4 DSCP":            {4, v4 + 1, true},
		"IPv4 identification":  {4, v4 + 5, false},
		"IPv4 TTL":             {4, v4 + 8, true},
		"IPv4 header checksum": {4, v4 + 10, true},
		"IPv4 source":          {4, v4 + 15, false},
		"IPv4 destination":     {4, v4 + 19, false},
		"IPv4 source port":     {4, v4 + IPv4Len + 1, false},
		"IPv4 UDP checksum":    {4, v4 + IPv4Len + 6, true},
		"IPv6 traffic class":   {6, v6 + 1, true},
		"IPv6 flow label":      {6, v6 + 3, true},
		"IPv6 hop limit":       {6, v6 + 7, true},
		"IPv6 source":          {6, v6 + 23, false},
		"IPv6 destination":     {6, v6 + 39, false},
		"IPv6 source port":     {6, v6 + IPv6Len + 1, false},
		"IPv6 UDP checksum":    {6, v6 + IPv6Len + 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := sample(c.family == 6, false)
			p := Path{Src: h.Src, Dst: h.Dst, SrcPort: h.SrcPort}
			p.Prepare()
			packet := make([]byte, 40)
			p.Seal(h.ID, packet[:bthLen], [][]byte{packet[bthLen:36]}, packet[36:])
			frame := append(h.AppendFrame(nil, len(packet)), packet...)
			require.True(t, verifyFrame(t, frame))
			frame[c.at] ^= 1
			if c.family == 4 && c.at != v4+10 {
				binary.BigEndian.PutUint16(frame[v4+10:], 0)
				binary.BigEndian.PutUint16(frame[v4+10:], ^fold(onesSum(0, frame[v4:v4+IPv4Len])))
			}
			require.Equal(t, c.good, verifyFrame(t, frame))
		})
	}
}

// verifyFrame does what a receiver does with a frame.
func verifyFrame(t *testing.T, frame []byte) bool {
	t.Helper()
	f, err := ParseFrame(frame)
	require.NoError(t, err)
	return VerifyICRC(f.Src, f.Dst, f.SrcPort, f.Flags, f.ID, [2][]byte{f.Payload})
}
