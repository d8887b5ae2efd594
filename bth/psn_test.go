package bth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
)

func TestPSNArithmetic(t *testing.T) {
	for _, c := range []struct {
		p, q bth.PSN
		diff int32
	}{
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, 0xffffff, 1}, // the wrap is an ordinary step
		{0xffffff, 0, -1},
		{2, 0xfffffd, 5},
		{0x7fffff, 0, 1<<23 - 1},
		// exactly half a circle counts as behind
		{0x800000, 0, -1 << 23},
		{0, 0x800000, -1 << 23},
		{0x800001, 1, -1 << 23},
		{0x123456, 0xabcdef, 0x123456 - 0xabcdef + 1<<24},
	} {
		require.Equal(t, c.diff, c.p.Diff(c.q), "%v - %v", c.p, c.q)
		require.Equal(t, c.diff < 0, c.p.Before(c.q))
		require.Equal(t, c.diff > 0, c.p.After(c.q))
		require.Equal(t, c.p, c.q.Add(uint32(c.diff)), "%v + %v", c.q, c.diff)
		require.Equal(t, c.q, c.p.Sub(uint32(c.diff)))
	}
}

// At every distance of the window, and around every start, past and future are
// told apart.
func TestPSNWindowIsUnambiguous(t *testing.T) {
	for _, start := range []bth.PSN{0, 1, 0x7fffff, 0x800000, 0xffffff} {
		for n := uint32(1); n < bth.PSNWindow; n += 1 + n/16 {
			require.True(t, start.Add(n).After(start))
			require.True(t, start.Before(start.Add(n)))
			require.True(t, start.Sub(n).Before(start))
			require.EqualValues(t, n, start.Add(n).Diff(start))
			require.LessOrEqual(t, start.Add(n), bth.PSN(bth.PSNMask))
			require.LessOrEqual(t, start.Sub(n), bth.PSN(bth.PSNMask))
		}
	}
}

func TestPSNString(t *testing.T) { require.Equal(t, "16777215", bth.PSN(0xffffff).String()) }
