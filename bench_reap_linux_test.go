package roce_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// samples keeps the newest of the measured times.
type samples struct {
	times []time.Duration
	n     int
}

func newSamples() *samples { return &samples{times: make([]time.Duration, 1<<20)} }

func (s *samples) add(d time.Duration) {
	s.times[s.n%len(s.times)] = d
	s.n++
}

// reportHalf reports the median and the 99th percentile of half the times: of one
// way, if the times are of round trips.
func (s *samples) reportHalf(b *testing.B) {
	times := s.times[:min(s.n, len(s.times))]
	slices.Sort(times)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(times[len(times)*p/100].Nanoseconds())/2000, fmt.Sprintf("p%d-us", p))
	}
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
