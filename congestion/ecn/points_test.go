package ecn_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// TestNP proves that the first mark is answered at once, that marks less than the
// interval after a CNP are forgotten, that the first one after it is answered, and that
// a CNP which leaves late counts from when it left.
func TestNP(t *testing.T) {
	var np ecn.NP
	require.False(t, np.Due())
	np.Marked(0)
	require.True(t, np.Due())
	np.Sent(0)
	require.False(t, np.Due())

	for now := clock.Time(1); now < 50_000; now += 1_000 {
		np.Marked(now)
		require.False(t, np.Due())
	}
	require.False(t, np.Due(), "an earlier mark was remembered")
	np.Marked(50_000)
	np.Marked(50_000)
	require.True(t, np.Due())

	np.Sent(70_000)
	np.Marked(119_999)
	require.False(t, np.Due())
	np.Marked(120_000)
	require.True(t, np.Due())
}

// TestNPInterval proves that the interval can be chosen.
func TestNPInterval(t *testing.T) {
	np := ecn.NP{Interval: 4 * time.Microsecond}
	np.Marked(10)
	np.Sent(10)
	np.Marked(4_009)
	require.False(t, np.Due())
	np.Marked(4_010)
	require.True(t, np.Due())
}

// TestRED proves the probabilities at the edges and between.
func TestRED(t *testing.T) {
	red := ecn.RED{Kmin: 40_000, Kmax: 200_000, Pmax: 0.1}
	require.NoError(t, red.Validate())
	for queue, want := range map[int]float64{
		0: 0, 40_000: 0, 40_001: 0.1 / 160_000, 120_000: 0.05, 200_000: 0.1, 200_001: 1, math.MaxInt: 1,
	} {
		require.Equal(t, want, red.Probability(queue), "%d bytes", queue)
	}
	cutoff := ecn.RED{Kmin: 40_000, Kmax: 40_000, Pmax: 1}
	require.NoError(t, cutoff.Validate())
	require.Zero(t, cutoff.Probability(40_000))
	require.Equal(t, 1., cutoff.Probability(40_001))
}

// TestREDValidate proves that thresholds and probability out of range are refused.
func TestREDValidate(t *testing.T) {
	const thresholds = "must be 0 <= Kmin <= Kmax"
	for text, reds := range map[string][]ecn.RED{
		thresholds: {{Kmin: -1, Kmax: 5, Pmax: 1}, {Kmin: 6, Kmax: 5, Pmax: 1}},
		"ecn: RED's Pmax is": {{Kmin: 1, Kmax: 5}, {Kmin: 1, Kmax: 5, Pmax: -0.1},
			{Kmin: 1, Kmax: 5, Pmax: 1.1}, {Kmin: 1, Kmax: 5, Pmax: math.NaN()}},
	} {
		for _, red := range reds {
			require.ErrorContains(t, red.Validate(), text)
		}
	}
}
