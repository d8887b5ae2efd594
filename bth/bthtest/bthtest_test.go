package bthtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/wire"
)

func TestFramesAreWhole(t *testing.T) {
	for _, f := range bthtest.Frames(t) {
		w := f.Parse(t)
		require.EqualValues(t, wire.Port, w.DstPort, f.Name)
		require.True(t, wire.VerifyICRC(w.Src, w.Dst, w.SrcPort, w.Flags, w.ID, [2][]byte{w.Payload}), f.Name)
		bthtest.Parse(t, f.Packet(t))
	}
}

// A frame built from what was parsed equals the captured one to the byte.
func TestSealedRebuildsFrames(t *testing.T) {
	for _, f := range bthtest.Frames(t) {
		w := f.Parse(t)
		path := &wire.Path{Src: w.Src, Dst: w.Dst, SrcPort: w.SrcPort, TrafficClass: w.TrafficClass, HopLimit: w.HopLimit, SrcMAC: w.SrcMAC, DstMAC: w.DstMAC}
		path.Prepare()
		payload := bthtest.Sealed(path, w.ID, bthtest.Parse(t, f.Packet(t)))
		h := path.Headers(w.ID)
		require.Equal(t, f.Bytes, append(h.AppendFrame(nil, len(payload)), payload...), f.Name)
	}
}

// failing records that a check failed instead of failing the test.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) FailNow()              { panic(f) }

func fails(t testing.TB, check func(t testing.TB)) bool {
	f := &failing{TB: t}
	func() {
		defer func() { _ = recover() }()
		check(f)
	}()
	return f.failed
}

func TestEqualFindsDifferences(t *testing.T) {
	base := func(opts ...bthtest.Option) *bth.Packet {
		return bthtest.New(bth.RCSendOnly, append([]bthtest.Option{bthtest.Pattern(8)}, opts...)...)
	}
	require.False(t, fails(t, func(t testing.TB) { bthtest.Equal(t, base(), base(bthtest.Imm(7))) }), "SEND Only has no immediate")
	for _, other := range []*bth.Packet{
		base(bthtest.PSN(1)), base(bthtest.QP(1)), base(bthtest.AckReq), base(bthtest.Solicited),
		base(bthtest.Pattern(9)), bthtest.New(bth.RCSendOnlyImm, bthtest.Pattern(8)),
	} {
		require.True(t, fails(t, func(t testing.TB) { bthtest.Equal(t, base(), other) }), "%+v", other)
	}
}
