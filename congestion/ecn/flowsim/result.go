package flowsim

import (
	"math"
	"time"
)

// Result is what a scenario came to. All but the samples and the events is of the time
// after the warm-up.
type Result struct {
	Queue       Queue
	Marking     float64   // part of the packets that left marked
	Alpha       float64   // mean over time and flows
	CNPs        float64   // per second and flow
	Utilisation float64   // part of the capacity
	Loss        float64   // part of what was sent
	Rates       []float64 // delivered, mean, by flow, bit/s

	Interval time.Duration // between samples
	Samples  []Sample
	Events   int64
}

// Queue is the bottleneck's queue in bytes, weighted by time.
type Queue struct{ Mean, Deviation, P99 float64 }

// Sample is what happened since the sample before.
type Sample struct {
	At        time.Duration // its end
	Queue     float64       // mean, bytes
	Longest   int           // queue, bytes
	Sent      int64         // packets
	Dropped   int64         // packets
	Marked    int64         // packets
	CNPs      int64
	Delivered int64 // bytes
	Flows     []FlowSample
}

// FlowSample is a flow at a sample's end, and what it did since the one before.
type FlowSample struct {
	Delivered    int64   // bytes
	Rate, Target float64 // bit/s
	Alpha        float64
}

func (s *sim) result() *Result {
	c := &s.config
	span := instantOf(c.Length - c.WarmUp)
	r := &Result{
		Interval: c.Sample,
		Samples:  s.samples,
		Events:   s.events,
		Queue:    s.link.lengths.queue(span, c.Packet),
		Loss:     ratio(float64(s.measured.dropped), float64(s.measured.sent)),
		Alpha:    ratio(s.alphaArea, float64(s.active)),
		CNPs:     ratio(float64(s.measured.notified)*second, float64(s.active)),
	}
	var all float64
	for _, packets := range s.delivered {
		all += float64(packets)
		r.Rates = append(r.Rates, float64(packets)*float64(8*c.Packet)*second/float64(span))
	}
	r.Marking = ratio(float64(s.measured.marked), all)
	r.Utilisation = all * float64(s.link.service) / float64(span)
	return r
}

// queue takes the statistics of the times at each length.
func (l *lengths) queue(span instant, packet int) (q Queue) {
	var mean, square float64
	p99 := -1
	var until instant
	for n, t := range l.time {
		part := float64(t) / float64(span)
		mean += float64(float64(n) * part)
		square += float64(float64(n) * float64(float64(n)*part))
		if until += t; p99 < 0 && until >= span-span/100 {
			p99 = n
		}
	}
	bytes := float64(packet)
	return Queue{
		Mean:      mean * bytes,
		Deviation: math.Sqrt(max(0, square-float64(mean*mean))) * bytes,
		P99:       float64(max(p99, 0)) * bytes,
	}
}

// Jain is the index of fairness of Jain, Chiu and Hawe (1984): 1 if all shares are equal, 1/n
// if one of n has all, and 0 if nobody has anything.
func Jain(shares []float64) float64 {
	var sum, square float64
	for _, x := range shares {
		sum += x
		square += float64(x * x)
	}
	return ratio(float64(sum*sum), float64(len(shares))*square)
}

// Fairness is the fairness of what some flows, by number, delivered in one window after
// the other. A window is a multiple of the time between samples.
func (r *Result) Fairness(window time.Duration, flows ...int) (windows []float64) {
	shares := make([]float64, len(flows))
	for i := range r.Samples {
		for k, flow := range flows {
			shares[k] += float64(r.Samples[i].Flows[flow].Delivered)
		}
		if r.Samples[i].At%window == 0 {
			windows = append(windows, Jain(shares))
			clear(shares)
		}
	}
	return windows
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
