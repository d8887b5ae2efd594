package bth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
)

// Parse never panics; what it accepts is rebuilt to the same packet, and to the same
// bytes once reserved bits and pad are zero.
func FuzzParse(f *testing.F) {
	for _, frame := range bthtest.Frames(f) {
		f.Add(frame.Packet(f), uint16(0xffff))
	}
	for _, op := range known() {
		f.Add(bthtest.Build(op, bthtest.Pattern(5)), uint16(op.HeaderLen()))
	}
	f.Add([]byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		n := min(int(cut), len(b))
		p := new(bth.Packet)
		if p.Parse(b[:n:n], b[n:]) != nil {
			require.Zero(t, p.PayloadLen())
			return
		}
		rebuilt := bthtest.Encode(p)
		require.Len(t, rebuilt, len(b))
		again := bthtest.Parse(t, rebuilt)
		bthtest.Equal(t, p, again)
		require.Equal(t, rebuilt, bthtest.Encode(again))
	})
}
