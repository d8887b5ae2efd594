package samples

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of a million and one hundred times the first hundred are forgotten; the median and
// the 99th percentile are of half the times that are left.
func TestReportHalf(t *testing.T) {
	s := New()
	for range 100 {
		s.Add(time.Hour)
	}
	for i := range len(s.times) {
		s.Add(time.Duration(i%100) * 2 * time.Microsecond)
	}
	require.Equal(t, len(s.times)+100, s.Count())
	got := testing.Benchmark(func(b *testing.B) { s.ReportHalf(b) })
	require.InDelta(t, 49.5, got.Extra["p50-us"], 0.5)
	require.InDelta(t, 98.5, got.Extra["p99-us"], 0.5)
}
