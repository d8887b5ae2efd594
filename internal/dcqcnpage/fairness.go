package dcqcnpage

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
)

// Fairness: flows that come later, and slower, get their share. Two that both begin at
// line rate would prove nothing: they are equal from the start.
const (
	late       = "a second flow, late"
	third      = "a third flow"
	lateQCN    = "a second flow, late, timers of QCN"
	lateCutOff = "a second flow, late, cut-off marking"
)

// window is that of fairness: long against the saw-teeth of a flow.
const window = 10 * time.Millisecond

func fairness() (list []Case) {
	for _, seed := range seeds(10) {
		list = append(list, Case{ID{Scenario: late, Flows: 2, Seed: seed}, seed == 1, simulation(lateConfig(seed), judgeLate)})
	}
	for _, seed := range seeds(3) {
		list = append(list,
			Case{ID{Scenario: third, Flows: 3, Seed: seed}, seed == 1, simulation(thirdConfig(seed), judgeThird)},
			Case{ID{Scenario: lateQCN, Flows: 2, Seed: seed}, seed == 1, simulation(qcnConfig(seed), judgeQCN)},
			Case{ID{Scenario: lateCutOff, Flows: 2, Seed: seed}, seed == 1, simulation(cutOffConfig(seed), judgeCutOff)})
	}
	return list
}

// lateConfig: one flow has the line for itself, another joins at an eighth of it.
func lateConfig(seed uint64) flowsim.Config {
	c := scene([]flowsim.Flow{{}, {Start: window, Rate: capacity / 8}}, seed)
	c.WarmUp, c.Length = 300*time.Millisecond, 600*time.Millisecond
	return c
}

func judgeLate(r *flowsim.Result) []Check {
	return []Check{
		below("fair from, ms", fairFrom(r, window, 0, 1), 80),
		above("Jain of the means", flowsim.Jain(r.Rates), 0.99),
	}
}

// thirdConfig: two flows share the line, a third joins at line rate.
func thirdConfig(seed uint64) flowsim.Config {
	c := scene([]flowsim.Flow{{}, {}, {Start: joins}}, seed)
	c.Length = 3 * joins
	return c
}

const joins = 100 * time.Millisecond

func judgeThird(r *flowsim.Result) []Check {
	return []Check{below("fair from, ms", fairFrom(r, joins, 0, 1, 2), 80)}
}

// cutOffConfig is as lateConfig with marking that is all or nothing, and a gain to match.
func cutOffConfig(seed uint64) flowsim.Config {
	c := lateConfig(seed)
	c.RED, c.Params.Gain = cutOff, 1.0/16
	return c
}

func judgeCutOff(r *flowsim.Result) []Check {
	return []Check{
		below("fair from, ms", fairFrom(r, window, 0, 1), 300),
		shown("Jain of the means", flowsim.Jain(r.Rates), 0),
	}
}

// qcnConfig has the slow timer and the small byte counter of QCN, the standard that DCQCN
// was made from.
func qcnConfig(seed uint64) flowsim.Config {
	c := cutOffConfig(seed)
	c.Params = qcn()
	return c
}

func qcn() ecn.Params {
	p := ecn.Paper()
	p.Timer, p.Bytes, p.Gain = 1500*time.Microsecond, 150_000, 1.0/16
	return p
}

func judgeQCN(r *flowsim.Result) []Check {
	most := 0.0
	for _, j := range r.Fairness(window, 0, 1) {
		most = max(most, j)
	}
	return []Check{
		below("largest Jain", most, 0.6),
		shown("rate of the first, Gb/s", r.Rates[0]/1e9, 0),
		shown("rate of the second, Gb/s", r.Rates[1]/1e9, 0),
	}
}

// fair is the fairness at which flows are taken to share fairly.
const fair = 0.98

// fairFrom is from when on flows share fairly, in milliseconds after some time: where the
// first window begins in which they do. If they never do it is the end.
func fairFrom(r *flowsim.Result, since time.Duration, flows ...int) float64 {
	windows := r.Fairness(window, flows...)
	i := int(since / window)
	for i < len(windows) && windows[i] <= fair {
		i++
	}
	return ms(time.Duration(i)*window - since)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
