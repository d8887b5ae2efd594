package dcqcnpage

import (
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
	"github.com/rocinante-rdma/roce/congestion/ecn/theory"
)

// The open loop: one flow whose packets are marked with a probability, whatever it does.
const (
	openRenewal = "open loop"
	openWindows = "open loop, fixed windows"
)

var markings = []struct {
	p      float64
	length time.Duration // the fewer CNPs, the longer; the fewer packets, too
}{
	{0.001, time.Second},
	{0.0025, time.Second},
	{0.008, 2 * time.Second},
	{0.08, 4 * time.Second},
}

func markingName(p float64) string { return fmt.Sprintf("p = %g", p) }

func openLoop() (list []Case) {
	for _, m := range markings {
		for _, seed := range seeds(3) {
			c := scene(nil, seed)
			c.Marking, c.WarmUp, c.Length = m.p, 100*time.Millisecond, 100*time.Millisecond+m.length
			c.Capacity = 10 * capacity // so that there is no queue
			list = append(list,
				Case{ID{Scenario: openRenewal, Variant: markingName(m.p), Flows: 1, Seed: seed}, seed == 1, func() ([]Check, int64, error) { return measureOpen(c) }},
				Case{ID{Scenario: openWindows, Variant: markingName(m.p), Flows: 1, Seed: seed}, seed == 1 && m.p > 0.005, func() ([]Check, int64, error) { return measureWindows(c) }})
		}
	}
	return list
}

func measureOpen(c flowsim.Config) ([]Check, int64, error) {
	want, err := theory.RenewalAtMarking(paperFlow(), c.Marking)
	if err != nil {
		return nil, 0, err
	}
	c.Flows = []flowsim.Flow{{Rate: want.Rate}}
	r, err := flowsim.Run(c, nil)
	if err != nil {
		return nil, 0, err
	}
	return []Check{
		within("rate, Gb/s", r.Rates[0]/1e9, want.Rate/1e9, 0.08),
		within("alpha", r.Alpha, want.Alpha, 0.05),
		within("CNPs/s", r.CNPs, want.CNPs, 0.05),
	}, r.Events, nil
}

// measureWindows compares with the published model, which has F fast recoveries where the
// paper's set has F-1.
func measureWindows(c flowsim.Config) ([]Check, int64, error) {
	want, err := theory.FluidAtMarking(paperFlow(), c.Marking)
	if err != nil {
		return nil, 0, err
	}
	c.Flows, c.Windows = []flowsim.Flow{{Rate: want.Rate}}, true
	c.Params.StageBefore = true
	r, err := flowsim.Run(c, nil)
	if err != nil {
		return nil, 0, err
	}
	return []Check{
		within("rate, Gb/s", r.Rates[0]/1e9, want.Rate/1e9, 0.12),
		shown("alpha", r.Alpha, want.Alpha),
		shown("CNPs/s", r.CNPs, want.CNPs),
	}, r.Events, nil
}
