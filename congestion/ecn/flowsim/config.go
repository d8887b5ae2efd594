package flowsim

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// Config is a scenario.
type Config struct {
	Flows  []Flow
	Params ecn.Params // of every reaction point; MinRate may be as low as 1 kb/s
	Line   float64    // line rate of every sender, bit/s
	Packet int        // size of every packet on the wire, bytes

	Capacity float64 // of the bottleneck, bit/s
	Buffer   int     // bytes, of those that wait and the one that leaves
	RED      ecn.RED
	Marking  float64 // not 0: the probability of a mark, whatever the queue (the open loop)

	Interval time.Duration // of the notification points; 0: [ecn.DefaultInterval]
	Windows  bool          // notification points with fixed windows, as the published fluid model has
	Delay    time.Duration // from a mark to what the sender makes of it, at the bottleneck

	// FixedDepartures is for pacers that fix when a packet leaves at the moment when the one
	// before does, and keep to it whatever the rate becomes. The usual ones, token buckets,
	// are as fast as the rate always.
	FixedDepartures bool

	Seed      uint64        // of marks and of the first packets' times
	Length    time.Duration // of the simulation
	WarmUp    time.Duration // what is before this counts in the samples only
	Sample    time.Duration // time between samples; WarmUp and Length are multiples
	MaxEvents int64         // when to give up; 0: 10^9
}

// Flow is one sender.
type Flow struct {
	Start time.Duration // its first packet leaves within one packet's time after this
	Rate  float64       // bit/s it begins with, limited by its reaction point; 0: the line rate
	Off   bool          // no congestion control: it keeps the rate it begins with
}

// Equal is n equal flows that begin with equal shares of a rate in bit/s.
func Equal(n int, rate float64) []Flow {
	flows := make([]Flow, n)
	for i := range flows {
		flows[i].Rate = rate / float64(n)
	}
	return flows
}

// Limits of what can be asked for.
const (
	maxFlows         = 10_000
	maxPacket        = 1 << 20
	maxBuffer        = 1 << 24 // packets
	minRate, maxRate = 1e6, 10e12
	leastFloor       = 1e3
	maxLength        = time.Hour
	maxSample        = 100 * time.Millisecond
	maxDelay         = time.Second
	maxSamples       = 10_000_000 // flows × samples
	defaultMaxEvents = 1_000_000_000
)

// Validate reports everything that is out of its range.
func (c *Config) Validate() error {
	return errors.Join(
		between("number of flows", len(c.Flows), 1, maxFlows),
		between("line rate in bit/s", c.Line, minRate, maxRate),
		between("capacity in bit/s", c.Capacity, minRate, maxRate),
		between("packet size in bytes", c.Packet, 1, maxPacket),
		between("buffer in bytes", int64(c.Buffer), int64(c.Packet), maxBuffer*int64(min(c.Packet, maxPacket))),
		between("marking probability", c.Marking, 0, 1),
		between("CNP interval", c.Interval, 0, time.Second),
		between("delay", c.Delay, 0, maxDelay),
		between("largest number of events", c.MaxEvents, 0, 1<<62),
		c.times(),
		c.starts(),
		c.params(),
		c.RED.Validate(),
	)
}

// params allows a lower floor than package ecn does, so that it can be shown what it is for.
func (c *Config) params() error {
	p := c.Params
	err := between("MinRate in bit/s", p.MinRate, leastFloor, maxRate)
	p.MinRate = max(p.MinRate, minRate)
	return errors.Join(err, p.Validate())
}

func (c *Config) times() error {
	if err := errors.Join(
		between("length", c.Length, time.Microsecond, maxLength),
		between("time between samples", c.Sample, time.Microsecond, maxSample),
		between("warm-up", c.WarmUp, 0, c.Length-1),
	); err != nil {
		return err
	}
	if c.Length%c.Sample != 0 || c.WarmUp%c.Sample != 0 {
		return fmt.Errorf("flowsim: length %v and warm-up %v must be multiples of the time between samples, %v", c.Length, c.WarmUp, c.Sample)
	}
	return between("number of samples of all flows", int64(c.Length/c.Sample)*int64(len(c.Flows)), 0, maxSamples)
}

func (c *Config) starts() error {
	for i, f := range c.Flows {
		if err := between(fmt.Sprintf("start of flow %d", i), f.Start, 0, maxLength); err != nil {
			return err
		}
		if f.Rate == 0 {
			continue
		}
		if err := between(fmt.Sprintf("first rate of flow %d in bit/s", i), f.Rate, c.Params.MinRate, c.Line); err != nil {
			return err
		}
	}
	return nil
}

type number interface{ ~int | ~int64 | ~float64 }

// between refuses what is not from low to high; a NaN is not.
func between[T number](what string, v, low, high T) error {
	if low <= v && v <= high {
		return nil
	}
	return fmt.Errorf("flowsim: %s is %v, must be %v to %v", what, v, low, high)
}
