// Package samples keeps the times that a benchmark measures, and reports their
// percentiles in the units that the tables of docs/perf.md read.
package samples

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Samples keeps the newest of the measured times. It is for one goroutine.
type Samples struct {
	times []time.Duration
	n     int
}

// New makes room for a million times, so that Add allocates nothing.
func New() *Samples { return &Samples{times: make([]time.Duration, 1<<20)} }

// Add adds a time.
func (s *Samples) Add(d time.Duration) {
	s.times[s.n%len(s.times)] = d
	s.n++
}

// Count is how many times were added.
func (s *Samples) Count() int { return s.n }

// ReportHalf reports the median and the 99th percentile of half the times, in
// microseconds: of one way, if the times are of round trips. There must be one.
func (s *Samples) ReportHalf(b *testing.B) {
	times := s.times[:min(s.n, len(s.times))]
	slices.Sort(times)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(times[len(times)*p/100].Nanoseconds())/2000, fmt.Sprintf("p%d-us", p))
	}
}
