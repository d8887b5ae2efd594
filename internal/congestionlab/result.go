package congestionlab

import "time"

// Result is what a run was like.
type Result struct {
	Scenario Scenario
	Samples  []Sample
	Queue    []int // bytes in front of the receiver, 50 times per sample
	Summary  Summary
}

// Sample is what happened in one piece of time.
type Sample struct {
	Time      time.Duration // its end
	Queue     float64       // mean, bytes
	QueueMost int           // bytes
	Drops     int           // packets, at the bottleneck
	Marks     int           // packets
	CNPs      int           // that reached the senders
	Flows     []FlowSample
}

// FlowSample is what one flow did in a piece of time. Rates are in bit/s and count what
// packets take on Ethernet.
type FlowSample struct {
	Delivered    float64 // by the bottleneck, to the receiver
	Rate, Target float64 // of the limiter, at the end; the line rate if it does not limit
	Alpha        float64 // at the end; 0 if it does not limit
}

// Delivered is the rate of all flows together.
func (s *Sample) Delivered() (sum float64) {
	for _, f := range s.Flows {
		sum += f.Delivered
	}
	return sum
}

// Summary is a run in numbers. Means and shares are of its settled part: the second half
// of the time after the last flow began.
type Summary struct {
	Control     string        `json:"control"` // "dcqcn" or "window"
	SettledFrom time.Duration `json:"settled_from_ns"`

	Jain        float64 `json:"jain"`         // of what the flows got in the settled part
	JainWindows float64 `json:"jain_windows"` // mean of those of windows of 10 ms
	// Converged is how long after the last flow's start the shares were fair for good: the end
	// of the first window of 10 ms from which on all have a Jain index of at least 0.95.
	// Negative: never.
	Converged time.Duration `json:"converged_ns"`

	QueueMean   float64 `json:"queue_mean_bytes"`
	QueueP99    int     `json:"queue_p99_bytes"`
	QueueMost   int     `json:"queue_most_bytes"`        // of the whole run
	Utilisation float64 `json:"utilisation"`             // of the bottleneck
	Goodput     float64 `json:"goodput_bits_per_second"` // of whole messages, in the whole run

	Drops         int    `json:"drops"`         // of the whole run
	DropsSettled  int    `json:"drops_settled"` // of the settled part
	Marks         int    `json:"ce_marked"`     // of the whole run, as what follows
	CNPs          int    `json:"cnps"`
	Retransmitted uint64 `json:"retransmitted"`

	Flows []FlowSummary `json:"flows"`
}

// FlowSummary is one flow in numbers.
type FlowSummary struct {
	Start     time.Duration `json:"start_ns"`
	Delivered float64       `json:"delivered_bits_per_second"` // mean of the settled part
	Messages  int           `json:"messages"`
	Drops     int           `json:"drops"`
	Marks     int           `json:"ce_marked"`
	CNPs      int           `json:"cnps"`
}
