package congestionlab

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
)

// The usual measure of being fair over short times.
const (
	fairWindow = 10 * time.Millisecond
	fairEnough = 0.95
)

// fairness are the Jain indices of the windows of 10 ms that end with each sample from the
// given one on.
func fairness(samples []Sample, sample time.Duration, from int) (indices []float64) {
	window := max(1, int(fairWindow/sample))
	for end := from + window; end <= len(samples); end++ {
		indices = append(indices, flowsim.Jain(delivered(samples[end-window:end])))
	}
	return indices
}

// delivered is what each flow got in some samples, in bit/s.
func delivered(samples []Sample) []float64 {
	if len(samples) == 0 {
		return nil
	}
	shares := make([]float64, len(samples[0].Flows))
	for i := range samples {
		for f := range shares {
			shares[f] += samples[i].Flows[f].Delivered / float64(len(samples))
		}
	}
	return shares
}

// converged is the number of the first of the indices from which on all are fair, -1 if
// the last is not.
func converged(indices []float64) int {
	first := -1
	for i := len(indices) - 1; i >= 0 && indices[i] >= fairEnough; i-- {
		first = i
	}
	return first
}
