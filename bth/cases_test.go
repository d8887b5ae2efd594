package bth_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/wire"
)

func testPath(t *testing.T) (*wire.Path, wire.Flow) {
	t.Helper()
	p := &wire.Path{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 0xc001}
	p.Prepare()
	return p, wire.MakeFlow(p.Src, p.Dst, p.SrcPort, wire.DontFragment)
}

// Payloads of any length go out with the right pad, zero and covered by the ICRC,
// and come in without it.
func TestW01PadOfOddPayloads(t *testing.T) {
	path, flow := testPath(t)
	for _, op := range []bth.Opcode{bth.RCSendOnly, bth.RCWriteOnly, bth.RCReadRespOnly} {
		for _, n := range []int{32, 33, 34, 35, 36, 1, 0} {
			pad := (4 - n%4) % 4
			require.EqualValues(t, pad, bth.PadFor(n))
			b := bthtest.Sealed(path, 1, bthtest.New(op, bthtest.Pattern(n)))
			require.Len(t, b, op.HeaderLen()+n+pad+4)
			require.EqualValues(t, pad, b[1]>>4&3, "PadCnt")
			end := len(b) - 4
			require.Equal(t, make([]byte, pad), b[end-pad:end])
			require.True(t, flow.Verify(1, [2][]byte{b}))
			require.Equal(t, n, bthtest.Parse(t, b[:end]).PayloadLen())
			for i := end - pad; i < end; i++ {
				b[i] = 1
				require.False(t, flow.Verify(1, [2][]byte{b}), "a pad byte that is not covered")
				b[i] = 0
			}
		}
	}
}

// Byte 4 is zero but for FECN and BECN; on the way its bits may change, the PSN may
// not.
func TestW05ReservedBits(t *testing.T) {
	for _, op := range known() {
		require.Zero(t, bthtest.Build(op, bthtest.QP(0xffffff))[4], "%v", op)
		require.EqualValues(t, 0x40, bthtest.Build(op, bthtest.BECN)[4], "%v", op)
	}

	path, flow := testPath(t)
	want := bthtest.New(bth.RCSendOnly, bthtest.Pattern(8))
	b := bthtest.Sealed(path, 1, want)
	for bit := range 8 {
		b[4] ^= 1 << bit
		require.True(t, flow.Verify(1, [2][]byte{b}))
		got := bthtest.Parse(t, b[:len(b)-4])
		require.Equal(t, bit == 7, got.FECN)
		require.Equal(t, bit == 6, got.BECN)
		got.FECN, got.BECN = false, false
		bthtest.Equal(t, want, got)
		b[4] ^= 1 << bit
	}
	b[11] ^= 1
	require.False(t, flow.Verify(1, [2][]byte{b}))

	b = bthtest.Encode(want)
	b[8] |= 0x7f
	bthtest.Equal(t, want, bthtest.Parse(t, b))
}

// UDP payloads of every length and pad count: what has no room for headers, pad and
// ICRC is refused, and nothing panics.
func TestW08ShorterThanItsPad(t *testing.T) {
	for _, op := range []bth.Opcode{bth.RCSendOnly, bth.RCWriteOnly, bth.RCReadRequest, bth.RCAcknowledge, bth.RCFetchAdd} {
		for n := range 61 {
			for pad := range 4 {
				datagram := make([]byte, n)
				if n > 1 {
					datagram[0], datagram[1] = byte(op), byte(pad<<4)
				}
				for cut := range n + 1 {
					require.Equal(t, n >= op.HeaderLen()+pad+4 && cut >= op.HeaderLen(),
						accepts(datagram[:cut:cut], datagram[cut:]), "%v: %d bytes, pad %d, cut at %d", op, n, pad, cut)
				}
			}
		}
	}
}

// accepts does what a receiver does behind the ICRC check.
func accepts(a, b []byte) bool {
	packet, ok := wire.StripICRC([2][]byte{a, b})
	var p bth.Packet
	return ok && p.Parse(packet[0], packet[1]) == nil
}

// MigReq is set by default, as NICs do, and either value is taken.
func TestW13MigReq(t *testing.T) {
	for _, op := range []bth.Opcode{bth.RCAcknowledge, bth.RCSendOnly} {
		b := bthtest.Build(op)
		require.EqualValues(t, 0x40, b[1]&0x40)
		require.True(t, bthtest.Parse(t, b).MigReq)
		b[1] &^= 0x40
		require.False(t, bthtest.Parse(t, b).MigReq)
	}
}
