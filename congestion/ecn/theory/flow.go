package theory

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// Flow is what is the same for all flows of a model: the reaction point, its packets,
// and the notification point at the other end.
type Flow struct {
	Params   ecn.Params
	Packet   int           // bytes on the wire, all alike
	Interval time.Duration // least time between two CNPs
}

// Point is where a flow stays: what its cuts take, its increases give.
type Point struct {
	Marking float64 // part of its packets that is marked
	Rate    float64 // mean, bit/s
	Alpha   float64 // mean
	CNPs    float64 // per second
}

// model tells of a flow with a mean rate, in packets per second, and a probability of
// marking by how much its cuts outweigh its increases (in a unit of the model's own,
// growing with both), and what alpha and the CNPs per second are meanwhile.
type model func(f Flow, marking, rate float64) (excess, alpha, cnps float64)

// The ranges in which a point is looked for.
const (
	leastMarking, mostMarking = 1e-9, 0.9
	leastRate, mostRate       = 1, 1e9 // packets per second
)

// atRate finds the marking that holds flows at a mean rate in bit/s: the closed loop, in
// which the queue grows until enough is marked.
func (m model) atRate(f Flow, rate float64) (Point, error) {
	r := rate / f.bits()
	if err := errors.Join(f.validate(), within("packets per second", r, leastRate, mostRate)); err != nil {
		return Point{}, err
	}
	return m.point(f, root(leastMarking, mostMarking, func(p float64) float64 {
		excess, _, _ := m(f, p, r)
		return excess
	}), r), nil
}

// atMarking finds the mean rate of a flow whose packets are marked with a probability,
// whatever it does: the open loop.
func (m model) atMarking(f Flow, marking float64) (Point, error) {
	if err := errors.Join(f.validate(), within("probability of marking", marking, leastMarking, mostMarking)); err != nil {
		return Point{}, err
	}
	return m.point(f, marking, root(leastRate, mostRate, func(r float64) float64 {
		excess, _, _ := m(f, marking, r)
		return excess
	})), nil
}

func (m model) point(f Flow, marking, rate float64) Point {
	_, alpha, cnps := m(f, marking, rate)
	return Point{Marking: marking, Rate: rate * f.bits(), Alpha: alpha, CNPs: cnps}
}

// root finds where a growing function passes zero, by halving the range's logarithm.
func root(low, high float64, f func(float64) float64) float64 {
	for range 100 {
		if middle := math.Sqrt(low * high); f(middle) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// Queue is the queue, in bytes, at which RED marks this part of the packets. Beyond Pmax
// there is none: the marking jumps to 1 at Kmax, and the queue stays about there.
func Queue(red ecn.RED, marking float64) (bytes float64, ok bool) {
	if marking > red.Pmax {
		return float64(red.Kmax), false
	}
	return float64(red.Kmin) + marking/red.Pmax*float64(red.Kmax-red.Kmin), true
}

// bits is the size of a packet.
func (f Flow) bits() float64 { return float64(8 * f.Packet) }

func (f Flow) validate() error {
	if f.Packet < 1 {
		return fmt.Errorf("theory: packets of %d bytes: give at least 1", f.Packet)
	}
	if f.Interval <= 0 {
		return fmt.Errorf("theory: CNP interval %v: give more than 0", f.Interval)
	}
	return f.Params.Validate()
}

func within(what string, x, low, high float64) error {
	if !(x >= low && x <= high) {
		return fmt.Errorf("theory: %s %g: must be within %g and %g", what, x, low, high)
	}
	return nil
}
