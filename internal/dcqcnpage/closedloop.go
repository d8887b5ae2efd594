package dcqcnpage

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
	"github.com/rocinante-rdma/roce/congestion/ecn/theory"
)

// The closed loop: equal flows, whose queue decides how much is marked.
const closed = "closed loop"

var closedFlows = []int{2, 4, 10, 64}

func closedLoop() (list []Case) {
	for _, red := range []ecn.RED{gentle, usual} {
		for _, n := range closedFlows {
			short := red == gentle && n == 4 || red == usual && (n == 2 || n == 64)
			list = append(list, Case{ID{closed, redName(red), n, 1, closedSeeds}, short, func() ([]Check, int64, error) { return measureClosed(red, n) }})
		}
	}
	return list
}

// closedSeeds are as many, whose mean is taken: a run of 200 ms has few CNPs.
const closedSeeds = 3

// settled is what the seeds came to together.
type settled struct {
	queue, marking, alpha, cnps, utilisation, jain float64 // means
	least, most                                    float64 // alpha
	events                                         int64
}

func settleClosed(red ecn.RED, n int) (s settled, err error) {
	s.least = 1
	for _, seed := range seeds(closedSeeds) {
		c := scene(flowsim.Equal(n, capacity), seed)
		c.RED, c.WarmUp, c.Length = red, 100*time.Millisecond, 300*time.Millisecond
		r, err := flowsim.Run(c, nil)
		if err != nil {
			return s, err
		}
		s.queue += r.Queue.Mean / closedSeeds
		s.marking += r.Marking / closedSeeds
		s.alpha += r.Alpha / closedSeeds
		s.cnps += r.CNPs / closedSeeds
		s.utilisation += r.Utilisation / closedSeeds
		s.jain += flowsim.Jain(r.Rates) / closedSeeds
		s.least, s.most = min(s.least, r.Alpha), max(s.most, r.Alpha)
		s.events += r.Events
	}
	return s, nil
}

func measureClosed(red ecn.RED, n int) ([]Check, int64, error) {
	want, err := theory.RenewalAtRate(paperFlow(), capacity/float64(n))
	if err != nil {
		return nil, 0, err
	}
	fluid, err := theory.FluidAtRate(paperFlow(), capacity/float64(n))
	if err != nil {
		return nil, 0, err
	}
	got, err := settleClosed(red, n)
	if err != nil {
		return nil, 0, err
	}
	queue, _ := theory.Queue(red, want.Marking)
	queuePart, markingPart := tolerance(red, n)
	return []Check{
		within("queue, KB", got.queue/1e3, queue/1e3, queuePart),
		within("p", got.marking, want.Marking, markingPart),
		within("alpha", got.alpha, want.Alpha, 0.06),
		shown("CNPs/s", got.cnps, want.CNPs),
		above("utilisation", got.utilisation, 0.995),
		above("Jain", got.jain, 0.99),
		shown("p against the published model", got.marking, fluid.Marking),
		shown("alpha, least of a seed", got.least, want.Alpha),
		shown("alpha, most of a seed", got.most, want.Alpha),
	}, got.events, nil
}

// tolerance is by which part the queue and the marking may differ from theory. A short
// queue is empty at times, and what is not marked then is marked at others, so the usual
// marking is the less exact, the more so for few flows; for two, p need not agree at all.
func tolerance(red ecn.RED, n int) (queue, marking float64) {
	switch {
	case red == gentle:
		return 0.1, 0.1
	case n < 4:
		return 0.15, 0
	}
	return 0.15, 0.15
}
