package flowsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Errors of Run, to be found with errors.Is.
var (
	ErrStopped = errors.New("flowsim: stopped")
	ErrEvents  = errors.New("flowsim: too many events")
)

// patience is after how many events Run asks whether to stop.
const patience = 1 << 16

// Run simulates a scenario to its end. From time to time it asks stop, if that is not
// nil, and gives up with [ErrStopped] when the answer is yes; after MaxEvents it gives up
// with [ErrEvents].
func Run(c Config, stop func() bool) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := newSim(&c)
	limit := c.MaxEvents
	if limit == 0 {
		limit = defaultMaxEvents
	}
	for end := instantOf(c.Length); s.sampled < end; s.events++ {
		if s.events >= limit {
			return nil, fmt.Errorf("%w: %d by %v of %v; raise MaxEvents or shorten Length", ErrEvents, s.events, s.now.clock(), c.Length)
		}
		if s.events%patience == 0 && stop != nil && stop() {
			return nil, fmt.Errorf("%w at %v of %v", ErrStopped, s.now.clock(), c.Length)
		}
		s.step()
	}
	return s.result(), nil
}

// sim is a simulation under way.
type sim struct {
	config Config
	now    instant
	events int64

	flows  []flow
	agenda agenda
	link   bottleneck
	cnps   cnps
	delay  instant

	counts
}

func newSim(c *Config) *sim {
	s := &sim{config: *c, flows: make([]flow, len(c.Flows)), delay: instantOf(c.Delay)}
	random := rand.NewPCG(c.Seed, 0)
	entries := make([]entry, len(s.flows))
	for i := range s.flows {
		s.flows[i].init(c, c.Flows[i], random)
		entries[i] = entry{s.flows[i].next, int32(i)}
	}
	s.agenda = makeAgenda(entries)
	s.link.init(c, random)
	s.nextSample, s.delivered = instantOf(c.Sample), make([]int64, len(c.Flows))
	return s
}

// step does what comes next. Of equal times a sample is first, then a CNP, then a packet
// that leaves, then one that comes.
func (s *sim) step() {
	cnp, leave, act := s.cnps.at(), s.link.leaves, s.agenda[0].at
	s.now = min(cnp, leave, act, s.nextSample)
	switch s.now {
	case s.nextSample:
		s.sample()
	case cnp:
		s.flows[s.cnps.pop().flow].cnp(s.now)
	case leave:
		s.leave()
	default:
		s.act()
	}
}

func (s *sim) act() {
	i := s.agenda[0].flow
	f := &s.flows[i]
	if f.act(s.now, s.config.Packet) {
		s.sent++
		if !s.link.join(s.now, i) {
			s.dropped++
		}
	}
	s.agenda.postpone(f.wake())
}

func (s *sim) leave() {
	i, marked := s.link.leave(s.now)
	f := &s.flows[i]
	f.delivered++
	if !marked {
		return
	}
	s.marked++
	if leaves, owed := f.np.marked(s.now.clock()); owed {
		s.notified++
		s.cnps.push(entry{max(s.now, due(leaves)) + s.delay, i})
	}
}
