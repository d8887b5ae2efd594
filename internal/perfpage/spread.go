package perfpage

import (
	"fmt"
	"slices"
)

// spread is a value over the rounds.
type spread struct{ median, min, max float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}

// ratios divides round by round.
func ratios(values, baseline []float64) []float64 {
	out := make([]float64, len(values))
	for i := range values {
		out[i] = values[i] / baseline[i]
	}
	return out
}

// over divides by one and the same number.
func (s spread) over(v float64) spread { return spread{s.median / v, s.min / v, s.max / v} }

// relative is the distance of the extremes, in parts of the median.
func (s spread) relative() float64 {
	if s.median == 0 {
		return 0
	}
	return (s.max - s.min) / s.median
}

// String is the median, with the extremes behind it.
func (s spread) String() string {
	return fmt.Sprintf("**%s** (%s–%s)", number(s.median), number(s.min), number(s.max))
}

// number writes about three digits, and all those before the point.
func number(v float64) string {
	switch {
	case v >= 100:
		return grouped(fmt.Sprintf("%.0f", v))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// grouped sets the thousands of a number without a point apart: 12,345,678.
func grouped(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
