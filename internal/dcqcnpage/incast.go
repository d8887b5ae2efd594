package dcqcnpage

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
)

// The incast: twenty senders begin at once, each with the rate of the bottleneck, before a
// buffer of 1 MB.
const (
	withControl    = "incast"
	withoutControl = "incast, no control"
)

const (
	incastFlows  = 20
	incastBuffer = 1_000_000
	startUp      = 5 * time.Millisecond
)

func incast() (list []Case) {
	for _, seed := range seeds(3) {
		list = append(list,
			Case{ID{Scenario: withControl, Flows: incastFlows, Seed: seed}, seed == 1, simulation(incastConfig(seed, false), judgeIncast)},
			Case{ID{Scenario: withoutControl, Flows: incastFlows, Seed: seed}, seed == 1, simulation(incastConfig(seed, true), judgeFlood)})
	}
	return list
}

func incastConfig(seed uint64, off bool) flowsim.Config {
	flows := make([]flowsim.Flow, incastFlows)
	for i := range flows {
		flows[i].Off = off
	}
	c := scene(flows, seed)
	c.Buffer = incastBuffer
	c.WarmUp, c.Length = 50*time.Millisecond, 250*time.Millisecond
	if off {
		c.WarmUp, c.Length = startUp, 25*time.Millisecond
	}
	return c
}

func judgeIncast(r *flowsim.Result) []Check {
	var early, later int64
	for _, s := range r.Samples {
		if s.At <= startUp {
			early += s.Dropped
		} else {
			later += s.Dropped
		}
	}
	return []Check{
		below("dropped in the first 5 ms", float64(early), 60_000),
		below("dropped later", float64(later), 1),
		below("queue, KB", r.Queue.Mean/1e3, 90),
		below("p99 of the queue, KB", r.Queue.P99/1e3, 160),
		above("utilisation", r.Utilisation, 0.99),
		shown("Jain", flowsim.Jain(r.Rates), 0),
	}
}

func judgeFlood(r *flowsim.Result) []Check {
	return []Check{
		above("part of the buffer in use", r.Queue.Mean/incastBuffer, 0.95),
		apart("loss", r.Loss, 0.95, 0.01),
		shown("Jain", flowsim.Jain(r.Rates), 0),
	}
}
