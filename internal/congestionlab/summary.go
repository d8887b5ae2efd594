package congestionlab

import (
	"slices"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
)

// sumUp fills the summary.
func (r *Result) sumUp(l *lab) {
	s, u := &r.Scenario, &r.Summary
	u.Control, u.SettledFrom = s.control(), s.settledFrom()
	begun := int(s.Starts.last(s.Senders) / s.Sample)
	settled := min(int(u.SettledFrom/s.Sample), len(r.Samples)-1)

	shares := delivered(r.Samples[settled:])
	u.Jain = flowsim.Jain(shares)
	u.JainWindows = mean(fairness(r.Samples, s.Sample, settled))
	u.Converged = -1
	if first := converged(fairness(r.Samples, s.Sample, begun)); first >= 0 {
		u.Converged = time.Duration(first)*s.Sample + fairWindow
	}
	r.sumUpQueue(settled)
	for i, sample := range r.Samples {
		u.Drops, u.Marks, u.CNPs = u.Drops+sample.Drops, u.Marks+sample.Marks, u.CNPs+sample.CNPs
		if i >= settled {
			u.DropsSettled += sample.Drops
		}
	}
	u.Utilisation = utilisation(shares, s.Rate)
	for i, f := range l.flows {
		u.Flows = append(u.Flows, FlowSummary{
			Start: f.start, Delivered: shares[i], Messages: f.completed,
			Drops: f.drops, Marks: f.marks, CNPs: f.cnps,
		})
		u.Goodput += float64(8*f.completed*s.Message) / s.Duration.Seconds()
		u.Retransmitted += f.requester.Stats().Retransmitted
	}
}

// settledFrom is where the settled part of a run begins, for which means are given: after
// half of the time that is left once the last flow has begun.
func (s *Scenario) settledFrom() time.Duration {
	last := s.Starts.last(s.Senders)
	return last + (s.Duration-last)/2
}

func (r *Result) sumUpQueue(settled int) {
	u := &r.Summary
	u.QueueMost = slices.Max(r.Queue)
	q := slices.Sorted(slices.Values(r.Queue[settled*ticks:]))
	for _, bytes := range q {
		u.QueueMean += float64(bytes) / float64(len(q))
	}
	u.QueueP99 = q[(len(q)-1)*99/100]
}

// utilisation is the part of the bottleneck's rate that flows share. It is no more than
// all, although the simulated wire, which knows whole nanoseconds only, may be a little
// faster than its rate.
func utilisation(shares []float64, rate float64) (u float64) {
	for _, s := range shares {
		u += s / rate
	}
	return min(u, 1)
}

// mean of nothing is 0.
func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}
