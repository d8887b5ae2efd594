package theory

import (
	"fmt"
	"math"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// Loop is equal flows before one bottleneck that marks by RED.
type Loop struct {
	Flow
	Flows    int
	Capacity float64 // of the bottleneck and of each sender's line, bit/s
	RED      ecn.RED
	Delay    time.Duration // from a mark to what the sender makes of it, at the queue
}

// Course is what the published model did in the time looked at.
type Course struct {
	Queue       float64 // mean, bytes
	Deviation   float64 // of the queue, bytes
	Marking     float64 // mean
	Alpha       float64 // mean
	Utilisation float64 // part of the capacity
}

// step is that of the integration.
const step = time.Microsecond

// Integrate follows the published model, by Euler's method in steps of 1 µs, for a
// warm-up and then for the time that Course tells of. Flows begin with an equal share of
// the capacity, alpha as at a first CNP, and the queue empty. What the delay makes old is the
// marking and the rate at which marked packets came.
func (l Loop) Integrate(warmUp, span time.Duration) (Course, error) {
	if err := l.validate(warmUp, span); err != nil {
		return Course{}, err
	}
	s := l.start()
	for range warmUp / step {
		s.advance()
	}
	var sum Course
	var square float64
	n := float64(span / step)
	for range span / step {
		sum.Utilisation += min(1, (s.queue/step.Seconds()+float64(l.Flows)*s.rate)/s.capacity) / n
		s.advance()
		queue := s.queue * float64(l.Packet)
		sum.Queue += queue / n
		square += queue * queue / n
		sum.Marking += s.marking() / n
		sum.Alpha += s.alpha / n
	}
	sum.Deviation = math.Sqrt(max(0, square-sum.Queue*sum.Queue))
	return sum, nil
}

func (l Loop) validate(warmUp, span time.Duration) error {
	if err := l.Flow.validate(); err != nil {
		return err
	}
	switch {
	case l.Flows < 1:
		return fmt.Errorf("theory: %d flows: give at least 1", l.Flows)
	case !(l.Capacity > 0):
		return fmt.Errorf("theory: capacity %g bit/s: give more than 0", l.Capacity)
	case l.Delay < 0 || l.Delay > time.Second:
		return fmt.Errorf("theory: delay %v: give 0 to 1s", l.Delay)
	case warmUp < 0 || span < step || warmUp+span > time.Hour:
		return fmt.Errorf("theory: %v after %v: give at least %v after 0 or more, an hour in all", span, warmUp, step)
	}
	return l.RED.Validate()
}

// state is that of the model, rates and the queue in packets.
type state struct {
	Loop
	capacity, climb, floor     float64
	rate, target, alpha, queue float64
	past                       []past // a ring, as long as the delay
	at                         int
}

// past is what comes late.
type past struct{ rate, marking float64 }

func (l Loop) start() *state {
	s := &state{
		Loop:     l,
		capacity: l.Capacity / l.bits(),
		climb:    l.Params.AdditiveIncrease / l.bits(),
		floor:    l.Params.MinRate / l.bits(),
		alpha:    l.Params.InitialAlpha,
		past:     make([]past, l.Delay/step+1),
	}
	s.rate = s.capacity / float64(l.Flows)
	s.target = s.rate
	for i := range s.past {
		s.past[i].rate = s.rate
	}
	return s
}

func (s *state) marking() float64 { return s.RED.Probability(int(s.queue * float64(s.Packet))) }

// advance makes a step of all four equations.
func (s *state) advance() {
	s.past[s.at] = past{s.rate, s.marking()}
	s.at = (s.at + 1) % len(s.past)
	then := s.past[s.at]
	d := s.drive(then.marking, then.rate)

	dt, tau := step.Seconds(), s.Interval.Seconds()
	apart := s.target - s.rate
	rate := s.rate + dt*(apart/2*then.rate*d.increases-s.rate*s.alpha/(2*tau)*d.cnp)
	target := s.target + dt*(s.climb*then.rate*d.climbs-apart/tau*d.cnp)
	s.alpha += dt * s.Params.Gain / s.Params.AlphaPeriod.Seconds() * (d.alpha - s.alpha)
	s.queue = max(0, s.queue+dt*(float64(s.Flows)*s.rate-s.capacity))
	s.rate = min(max(rate, s.floor), s.capacity)
	s.target = min(max(target, s.floor), s.capacity)
}
