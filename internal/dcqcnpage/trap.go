package dcqcnpage

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
)

// The trap: 64 flows begin at line rate before a buffer so large that their burst stands in
// it for milliseconds. All that time everything is marked, and each CNP halves a rate. A
// pacer that fixes the time of the next packet by such a rate sits that out, eight seconds
// at 1 kb/s, though the rate comes back within milliseconds. What saves a flow is a floor
// for the rate, or a pacer that follows it, or a buffer too small for the burst.
const trapped = "trap"

// trapVariant is what is different.
type trapVariant struct {
	name   string
	buffer int     // bytes
	fixed  bool    // departures
	floor  float64 // of the rate, bit/s
	stuck  bool    // flows are silent at the end
	short  bool
}

const (
	noFloor    = 1e3
	paperFloor = 10e6
	large      = 1_000_000_000
	small      = 4_000_000
)

var trapVariants = []trapVariant{
	{"1 GB, departures fixed, floor 1 kb/s", large, true, noFloor, true, true},
	{"4 MB, departures fixed, floor 1 kb/s", small, true, noFloor, false, false},
	{"1 GB, departures fixed, floor 10 Mb/s", large, true, paperFloor, false, false},
	{"1 GB, pacer follows the rate, floor 1 kb/s", large, false, noFloor, false, false},
	{"1 GB, pacer follows the rate, floor 10 Mb/s", large, false, paperFloor, false, false},
}

const trapFlows = 64

func trap() (list []Case) {
	for _, v := range trapVariants {
		for _, seed := range seeds(3) {
			list = append(list, Case{ID{Scenario: trapped, Variant: v.name, Flows: trapFlows, Seed: seed}, v.short && seed == 1, simulation(trapConfig(v, seed), v.judge)})
		}
	}
	return list
}

func trapConfig(v trapVariant, seed uint64) flowsim.Config {
	c := scene(make([]flowsim.Flow, trapFlows), seed)
	c.Buffer, c.FixedDepartures, c.Params.MinRate = v.buffer, v.fixed, v.floor
	c.WarmUp, c.Length = 2*time.Second, 3*time.Second
	return c
}

// judge looks at the third second: flows are silent in the trap, and fair outside.
func (v trapVariant) judge(r *flowsim.Result) []Check {
	silent, longest := 0, 0
	for _, rate := range r.Rates {
		if rate == 0 {
			silent++
		}
	}
	for _, s := range r.Samples {
		longest = max(longest, s.Longest)
	}
	checks := []Check{
		below(silentFlows, float64(silent), 1),
		above(lastJain, flowsim.Jain(r.Rates), 0.99),
	}
	if v.stuck {
		checks = []Check{
			above(silentFlows, float64(silent), 10),
			below(lastJain, flowsim.Jain(r.Rates), 0.9),
		}
	}
	return append(checks,
		shown("utilisation of the third second", r.Utilisation, 0),
		shown("longest queue, MB", float64(longest)/1e6, 0),
		shown("last time below half the capacity, ms", idleUntil(r), 0))
}

// Names of checks.
const (
	silentFlows = "flows silent in the third second"
	lastJain    = "Jain of the third second"
)

// idleUntil is when the bottleneck last forwarded less than half of what it could, in
// milliseconds.
func idleUntil(r *flowsim.Result) (at float64) {
	half := capacity / 8 * r.Interval.Seconds() / 2
	for _, s := range r.Samples {
		if float64(s.Delivered) < half {
			at = ms(s.At)
		}
	}
	return at
}
