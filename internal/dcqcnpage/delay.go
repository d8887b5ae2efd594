package dcqcnpage

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
	"github.com/rocinante-rdma/roce/congestion/ecn/theory"
)

// What the time of the feedback does: the published model, followed through time, and the
// simulation beside it.
const (
	publishedLoop = "published model"
	long          = "long delay"
)

var publishedFlows = []int{2, 4, 8, 10, 16, 20, 64}

// loop is the published model with the usual marking.
func loop(flows int, delay time.Duration) theory.Loop {
	return theory.Loop{Flow: paperFlow(), Flows: flows, Capacity: capacity, RED: usual, Delay: delay}
}

// The times of an integration, long enough for alpha to settle.
const (
	settle = 400 * time.Millisecond
	watch  = 200 * time.Millisecond
)

func published() (list []Case) {
	for _, delay := range []time.Duration{near, 10 * time.Microsecond, distant} {
		for _, n := range publishedFlows {
			list = append(list, Case{ID{Scenario: publishedLoop, Variant: delay.String(), Flows: n}, true, func() ([]Check, int64, error) { return integrate(loop(n, delay)) }})
		}
	}
	return list
}

func integrate(l theory.Loop) ([]Check, int64, error) {
	want, err := theory.FluidAtRate(l.Flow, l.Capacity/float64(l.Flows))
	if err != nil {
		return nil, 0, err
	}
	got, err := l.Integrate(settle, watch)
	if err != nil {
		return nil, 0, err
	}
	queue, _ := theory.Queue(l.RED, want.Marking)
	if l.Delay == distant {
		return []Check{
			shown("queue, KB", got.Queue/1e3, queue/1e3),
			above("deviation of the queue, KB", got.Deviation/1e3, 10), // it oscillates
			shown("utilisation", got.Utilisation, 0),
		}, 0, nil
	}
	return []Check{
		within("queue, KB", got.Queue/1e3, queue/1e3, 0.01),
		within("p", got.Marking, want.Marking, 0.01),
		within("alpha", got.Alpha, want.Alpha, 0.01),
		within("utilisation", got.Utilisation, 1, 0.01),
		below("deviation of the queue, KB", got.Deviation/1e3, 1),
	}, 0, nil
}

func longDelay() (list []Case) {
	for _, n := range closedFlows {
		for _, seed := range seeds(3) {
			c := scene(flowsim.Equal(n, capacity), seed)
			c.Delay, c.WarmUp, c.Length = distant, 100*time.Millisecond, 300*time.Millisecond
			list = append(list, Case{ID{Scenario: long, Flows: n, Seed: seed}, seed == 1 && (n == 2 || n == 64), func() ([]Check, int64, error) { return measureLong(c) }})
		}
	}
	return list
}

func measureLong(c flowsim.Config) ([]Check, int64, error) {
	want, err := loop(len(c.Flows), c.Delay).Integrate(settle, watch)
	if err != nil {
		return nil, 0, err
	}
	r, err := flowsim.Run(c, nil)
	if err != nil {
		return nil, 0, err
	}
	return []Check{
		shown("queue, KB", r.Queue.Mean/1e3, want.Queue/1e3),
		within("deviation of the queue, KB", r.Queue.Deviation/1e3, want.Deviation/1e3, 0.2),
		apart("utilisation", r.Utilisation, want.Utilisation, 0.02),
	}, r.Events, nil
}
