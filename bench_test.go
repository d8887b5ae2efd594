package roce_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
)

// The benchmarks of this package are what docs/perf.md shows (make perf). Each
// counts what arrived, or compares memory at the end: a number for work that was
// not done is worth nothing. Beside each stands a baseline that does the like with
// plain sockets, so that numbers can be read as ratios on any machine.

const (
	// depth is how many operations are under way at once where latency is not what
	// is measured.
	depth = 16
	// listSize is how many requests are posted at once where that is more than one.
	listSize = 32
	// smallSize is the length of a small message in bytes.
	smallSize = 64
)

// newBenchEnd is a device on a link with one of everything; its region has size bytes,
// its queues depth requests.
func newBenchEnd(b *testing.B, l link.Link, size, depth int, opts ...roce.Option) *end {
	b.Helper()
	dev, err := roce.Open(l, opts...)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	e := &end{t: b, dev: dev}
	e.pd, err = dev.AllocPD()
	require.NoError(b, err)
	e.cq, err = dev.CreateCQ(2 * depth)
	require.NoError(b, err)
	e.mr, err = e.pd.RegMR(make([]byte, size), allRights)
	require.NoError(b, err)
	e.qp, err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: depth, RecvDepth: depth})
	require.NoError(b, err)
	return e
}

// connected connects two ends.
func connected(x, y *end) (*end, *end) {
	require.NoError(x.t, x.qp.Connect(y.qp.Info()))
	require.NoError(y.t, y.qp.Connect(x.qp.Info()))
	return x, y
}

// reaper gets completions from a CQ, at least one.
type reaper func(b *testing.B, c *roce.CQ, wc []roce.WC) int

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

// must ends everything if there is an error. Fatal would not do: it is for the
// benchmark's goroutine alone, which would wait for ever for another one that failed.
// Besides, what tests do to name the line that failed takes a microsecond.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// post posts sends.
func post(e *end, wrs []roce.SendWR) {
	_, err := e.qp.PostSend(wrs...)
	must(err)
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

// reapGood takes completions of successful work only.
func reapGood(b *testing.B, e *end, wc []roce.WC, reap reaper) int {
	n := reap(b, e.cq, wc)
	for i := range wc[:n] {
		must(wc[i].Err())
	}
	return n
}

// requireSame compares the memory of two ends.
func requireSame(b *testing.B, x, y *end) {
	b.Helper()
	require.True(b, slices.Equal(x.mr.Bytes(), y.mr.Bytes()), "the bytes at the two ends differ")
}
