package congestionlab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Windows of 10 ms are five samples of 2 ms; one of an unfair sample among four fair ones
// is fair enough, two are not.
func TestFairnessOverWindows(t *testing.T) {
	fair, unfair := []FlowSample{{Delivered: 1}, {Delivered: 1}}, []FlowSample{{Delivered: 2}, {}}
	var samples []Sample
	for _, s := range "uufffffffuufffff" {
		if s == 'u' {
			samples = append(samples, Sample{Flows: unfair})
		} else {
			samples = append(samples, Sample{Flows: fair})
		}
	}
	indices := fairness(samples, 2*time.Millisecond, 0)
	require.Len(t, indices, len(samples)-4)
	require.InDelta(t, 1/(1+0.4*0.4), indices[0], 1e-12, "shares of 1.4 and 0.6")
	require.InDelta(t, 1/(1+0.2*0.2), indices[1], 1e-12)
	require.Equal(t, 1.0, indices[2])
	require.Equal(t, 10, converged(indices), "the window that ends with the first unfair pair is too early")
	require.Equal(t, -1, converged(append(indices, 0.9)))
	require.Equal(t, -1, converged(nil))
	require.Equal(t, 1.0, mean(fairness(samples[11:], 2*time.Millisecond, 0)))
	require.Len(t, fairness(samples, time.Second, 3), len(samples)-3, "a sample longer than the window is a window")
}
