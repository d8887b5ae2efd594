package dcqcnpage

import (
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/congestion/ecn/flowsim"
	"github.com/rocinante-rdma/roce/congestion/ecn/theory"
)

// Case is something to be measured.
type Case struct {
	ID
	Short bool // in the short form of the proof too

	measure measurement
}

// measurement makes a case's checks, and says how many events it took to simulate.
type measurement func() (checks []Check, events int64, err error)

// simulation is the measurement that judges a scenario by what it came to.
func simulation(c flowsim.Config, judge func(*flowsim.Result) []Check) measurement {
	return func() ([]Check, int64, error) {
		r, err := flowsim.Run(c, nil)
		if err != nil {
			return nil, 0, err
		}
		return judge(r), r.Events, nil
	}
}

// ID names a case.
type ID struct {
	Scenario string
	Variant  string `json:",omitempty"`
	Flows    int
	Seed     uint64 `json:",omitempty"` // 0: nothing is left to chance
	Last     uint64 `json:",omitempty"` // not 0: it is the mean of the seeds from Seed to this one
}

// Row is a case with what came out.
type Row struct {
	ID
	Checks []Check
	Events int64 `json:",omitempty"` // of the simulation
}

// Measure measures a case.
func (c Case) Measure() (Row, error) {
	checks, events, err := c.measure()
	return Row{ID: c.ID, Checks: checks, Events: events}, err
}

// Cases are all that is proved.
func Cases() (list []Case) {
	for _, subject := range []func() []Case{openLoop, closedLoop, published, longDelay, fairness, incast, trap, stack} {
		list = append(list, subject()...)
	}
	return list
}

// What is the same everywhere.
const (
	capacity = 40e9 // bit/s, of every line and of the bottleneck
	packet   = 1000 // bytes
	near     = 4 * time.Microsecond
	distant  = 85 * time.Microsecond
	roomy    = 1 << 30 // bytes of a buffer that never fills
)

// The ways of marking. The gentle one has room for a queue that shows how much is marked;
// the usual one keeps it short; the cut-off marks all or nothing.
var (
	gentle = ecn.RED{Kmin: 5_000, Kmax: 1_605_000, Pmax: 0.1}
	usual  = ecn.RED{Kmin: 40_000, Kmax: 200_000, Pmax: 0.1}
	cutOff = ecn.RED{Kmin: 40_000, Kmax: 40_000, Pmax: 1}
)

// redName names them for people.
func redName(r ecn.RED) string {
	switch r {
	case gentle:
		return "5/1605 KB"
	case usual:
		return "40/200 KB"
	}
	return "cut-off at 40 KB"
}

// paperFlow is a flow with the paper's set, for the models.
func paperFlow() theory.Flow {
	return theory.Flow{Params: ecn.Paper(), Packet: packet, Interval: ecn.DefaultInterval}
}

// scene is what the scenarios begin with.
func scene(flows []flowsim.Flow, seed uint64) flowsim.Config {
	return flowsim.Config{
		Flows: flows, Params: ecn.Paper(), Line: capacity, Packet: packet,
		Capacity: capacity, Buffer: roomy, RED: usual, Delay: near,
		Seed: seed, Sample: time.Millisecond,
	}
}

// seeds are 1 to n.
func seeds(n uint64) (list []uint64) {
	for s := uint64(1); s <= n; s++ {
		list = append(list, s)
	}
	return list
}
