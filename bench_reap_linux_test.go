package roce_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// What the benchmarks over sockets share.

// depth is how many operations are under way at once where latency is not what is
// measured.
const depth = 16

// poll spins.
func poll(_ *testing.B, c *roce.CQ, wc []roce.WC) int {
	for {
		if n := c.Poll(wc); n > 0 {
			return n
		}
	}
}

// wait sleeps.
func wait(b *testing.B, c *roce.CQ, wc []roce.WC) int {
	n, err := c.Wait(b.Context(), wc)
	must(err)
	return n
}

// reportRate reports how many messages there were per second of the benchmark.
func reportRate(b *testing.B, messages int) {
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "msg/s")
}

// pipeline keeps works under way: as soon as one completes it posts the next. Each
// work is one or several requests, of which the last is signaled.
func pipeline(b *testing.B, e *end, works [][]roce.SendWR, reap reaper) {
	b.ReportAllocs()
	for _, w := range works {
		post(e, w)
	}
	wc := make([]roce.WC, len(works))
	completed, posted := 0, 0
	for b.Loop() {
		if completed == posted {
			completed += reapGood(b, e, wc, reap)
		}
		post(e, works[posted%len(works)])
		posted++
	}
	for completed < posted+len(works) {
		completed += reapGood(b, e, wc, reap)
	}
}

// requireSame compares the memory of two ends.
func requireSame(b *testing.B, x, y *end) {
	b.Helper()
	require.True(b, slices.Equal(x.mr.Bytes(), y.mr.Bytes()), "the bytes at the two ends differ")
}
