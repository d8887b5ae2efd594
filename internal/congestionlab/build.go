package congestionlab

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// Setting is a key with a value, and where they come from, for errors: "lab.txt:3".
type Setting struct{ Key, Value, Where string }

// Default is the scenario of which others say what is different: four senders that begin
// one after the other, at 1 Gb/s.
func Default() Scenario {
	s := Scenario{
		Senders: 4, Starts: Starts{Every: 50 * time.Millisecond},
		Operation: Write, Message: 64 << 10, Depth: 4, MTU: 1024, AckTimeout: roce.DefaultTimeout,
		Duration: 400 * time.Millisecond, Sample: 2 * time.Millisecond,
		Rate: 1e9, Delay: 5 * time.Microsecond, Buffer: 250_000,
		RED:   ecn.RED{Kmin: 5_000, Kmax: 100_000, Pmax: 1},
		DCQCN: true, CNPInterval: 50 * time.Microsecond,
		Seed: 1, set: scaled,
	}
	s.Params = paramsOf(s.set, s.Rate)
	return s
}

// Names of sets of parameters. Those of [ecn.Named] are not scaled.
const scaled = "scaled"

// Bit rates of the scaled set.
const (
	paperRate = 10e9 // from which on links take the paper's set as it is
	leastRate = 1e6  // that Params allows
)

// paramsOf is a set by name, for a line rate. The scaled one is the paper's with the rates
// in it smaller in proportion on slow links: an increase of 40 Mb/s every 55 µs, made for
// 40 Gb/s, would carry a flow from nothing to 1 Gb/s in little more than a millisecond.
func paramsOf(set string, line float64) ecn.Params {
	if p, err := ecn.Named(set); err == nil {
		return p
	}
	p := ecn.Paper()
	for _, r := range []*float64{&p.AdditiveIncrease, &p.HyperIncrease, &p.MinRate} {
		*r = max(*r*min(line/paperRate, 1), leastRate)
	}
	return p
}

// Build makes a scenario of what it has different from [Default]. Later settings of a key
// win. Whatever the order, a set of parameters is chosen before single ones are changed.
func Build(settings ...Setting) (Scenario, error) {
	s := Default()
	ordered := slices.Clone(settings)
	slices.SortStableFunc(ordered, func(a, b Setting) int { return rank(a.Key) - rank(b.Key) })
	begun := false // with the single parameters
	for _, one := range ordered {
		if rank(one.Key) == single && !begun {
			s.Params, begun = paramsOf(s.set, s.Rate), true
		}
		k, err := KeyNamed(one.Key)
		if err != nil {
			return s, fmt.Errorf("%s: %w", one.Where, err)
		}
		if err := k.set(&s, one.Value); err != nil {
			return s, fmt.Errorf("%s: %s = %q %w", one.Where, one.Key, one.Value, err)
		}
	}
	if !begun {
		s.Params = paramsOf(s.set, s.Rate)
	}
	if err := s.validate(); err != nil {
		return s, fmt.Errorf("the scenario cannot be run: %w", err)
	}
	return s, nil
}

// single is the rank of keys of single parameters.
const single = 1

func rank(key string) int {
	if slices.ContainsFunc(parameterKeys, func(k Key) bool { return k.Name == key }) {
		return single
	}
	return 0
}
