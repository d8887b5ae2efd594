package congestionlab

import "time"

// jain is the index of fairness of Jain, Chiu and Hawe (1984): 1 if all get the same, 1/n
// if one of n gets all. Of nothing it is 1.
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += s
		squares += s * s
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}

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
		indices = append(indices, jain(delivered(samples[end-window:end])))
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
