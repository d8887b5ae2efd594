package flowsim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/congestion/ecn/theory"
)

// scene is 10 ms of some flows at 40 Gb/s.
func scene(flows ...Flow) Config {
	return Config{
		Flows: flows, Params: ecn.Paper(), Line: 40e9, Packet: 1000,
		Capacity: 40e9, Buffer: 1_000_000, RED: ecn.RED{Kmin: 40_000, Kmax: 200_000, Pmax: 0.1},
		Delay: 4 * time.Microsecond, Seed: 1, Length: 10 * time.Millisecond, Sample: time.Millisecond,
	}
}

func run(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(c, nil)
	require.NoError(t, err)
	return r
}

// A lone flow fills the line exactly, and is never marked.
func TestLoneFlow(t *testing.T) {
	r := run(t, scene(Flow{}))
	require.InDelta(t, 40e9, r.Rates[0], 40e9/10_000)
	require.Zero(t, r.Marking)
	require.Zero(t, r.Loss)
	require.LessOrEqual(t, r.Queue.P99, 1000.0, "one packet, which leaves")
	require.Equal(t, 40e9, r.Samples[9].Flows[0].Rate)
}

// Packets are neither made nor lost in between: what was sent has left, was dropped, or waits.
func TestPacketsAddUp(t *testing.T) {
	c := scene(make([]Flow, 20)...)
	r := run(t, c)
	var sent, dropped, delivered int64
	for _, s := range r.Samples {
		sent += s.Sent
		dropped += s.Dropped
		delivered += s.Delivered / int64(c.Packet)
		var flows int64
		for _, f := range s.Flows {
			flows += f.Delivered
		}
		require.Equal(t, s.Delivered, flows)
	}
	require.Positive(t, dropped)
	waiting := sent - dropped - delivered
	require.GreaterOrEqual(t, waiting, int64(0))
	require.LessOrEqual(t, waiting, int64(c.Buffer/c.Packet))
}

// Without control two flows at line rate fill the buffer, and half is lost.
func TestOff(t *testing.T) {
	c := scene(Flow{Off: true}, Flow{Off: true})
	c.WarmUp = time.Millisecond
	r := run(t, c)
	require.InDelta(t, 0.5, r.Loss, 0.001)
	require.InDelta(t, 1, r.Utilisation, 0.001)
	require.InDelta(t, c.Buffer, r.Queue.Mean, 2000)
	require.InDelta(t, 0, r.Queue.Deviation, 1000)
	require.Equal(t, 40e9, r.Samples[0].Flows[1].Rate)
	require.Zero(t, r.Alpha)
}

// A flow that keeps a rate below the capacity gets it, spaced exactly.
func TestKeptRate(t *testing.T) {
	r := run(t, scene(Flow{Off: true, Rate: 7e9}))
	require.InDelta(t, 7e9, r.Rates[0], 2e6, "within a packet")
}

// A flow begins when it is told to, and before that it has no rate.
func TestStart(t *testing.T) {
	r := run(t, scene(Flow{Off: true, Rate: 1e9}, Flow{Start: 5 * time.Millisecond, Rate: 2e9}))
	require.Zero(t, r.Samples[4].Flows[1])
	require.Positive(t, r.Samples[5].Flows[1].Delivered)
	require.GreaterOrEqual(t, r.Samples[5].Flows[1].Rate, 2e9, "limited, and rising")
}

// The same configuration gives the same result, another seed another one.
func TestRepeats(t *testing.T) {
	c := scene(make([]Flow, 4)...)
	first := run(t, c)
	require.Equal(t, first, run(t, c))
	c.Seed++
	require.NotEqual(t, first.Samples, run(t, c).Samples)
}

// A rate that changes between two packets moves the next one: at the lowest rate a flow
// does not sit out the time that this rate would have taken.
func TestPacerFollowsTheRate(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		var f flow
		c := scene(Flow{Rate: 10e6})
		c.FixedDepartures = fixed
		newSimFlow(&f, &c)
		at := f.next
		require.True(t, f.act(at, c.Packet))
		sent := f.next
		require.Equal(t, at+spacing(c.Packet, 10e6), sent, "800 µs")
		for now := f.wake(); now < f.next; now = f.wake() {
			require.False(t, f.act(now, c.Packet))
		}
		if fixed {
			require.Equal(t, sent, f.next)
			continue
		}
		// The target rises from 10 Mb/s by 40 Mb/s every 55 µs from the fifth time on, so
		// that the 8000 bits are soon together.
		require.Less(t, f.next-at, instantOf(500*time.Microsecond))
		require.Greater(t, f.next-at, instantOf(275*time.Microsecond))
	}
}

// A CNP between two packets puts the next one off, in proportion.
func TestCNPStretches(t *testing.T) {
	var f flow
	c := scene(Flow{Rate: 1e9}) // a packet every 8 µs; alpha is 1, so that a CNP halves it
	newSimFlow(&f, &c)
	at := f.next
	f.act(at, c.Packet)
	f.cnp(at + instantOf(2*time.Microsecond))
	require.Equal(t, at+instantOf(14*time.Microsecond), f.next, "6 µs were left, now 12")
}

func newSimFlow(f *flow, c *Config) { *f = newSim(c).flows[0] }

// The open loop stays where the renewal fixed point is, whether fast recovery has F-1 or
// F steps.
func TestOpenLoop(t *testing.T) {
	for _, before := range []bool{false, true} {
		c := scene(Flow{})
		c.Capacity, c.Marking = 400e9, 0.02
		c.Params.StageBefore = before
		c.WarmUp, c.Length = 100*time.Millisecond, time.Second
		want, err := theory.RenewalAtMarking(theory.Flow{Params: c.Params, Packet: c.Packet, Interval: ecn.DefaultInterval}, c.Marking)
		require.NoError(t, err)
		c.Flows[0].Rate = want.Rate
		r := run(t, c)
		require.InDelta(t, 0.02, r.Marking, 0.001)
		require.InEpsilon(t, want.Rate, r.Rates[0], 0.08)
		require.InEpsilon(t, want.Alpha, r.Alpha, 0.05)
		require.InEpsilon(t, want.CNPs, r.CNPs, 0.05)
	}
}

// The two notification points: one answers at once and then keeps its distance, the other
// at the ends of its windows.
func TestNotifiers(t *testing.T) {
	const us = 1000
	c := Config{Interval: 50 * time.Microsecond}
	n := newNotifier(&c)
	for _, mark := range []struct {
		at     int64
		leaves int64 // 0: it is not answered
	}{{10, 10}, {30, 0}, {59, 0}, {60, 60}, {109, 0}, {500, 500}} {
		leaves, owed := n.marked(clockTime(mark.at * us))
		require.Equal(t, mark.leaves != 0, owed, mark.at)
		require.Equal(t, clockTime(mark.leaves*us), leaves)
	}
	c.Windows = true
	n = newNotifier(&c)
	for _, mark := range []struct{ at, leaves int64 }{{10, 50}, {30, 0}, {49, 0}, {50, 100}, {99, 0}, {520, 550}} {
		leaves, owed := n.marked(clockTime(mark.at * us))
		require.Equal(t, mark.leaves != 0, owed, mark.at)
		require.Equal(t, clockTime(mark.leaves*us), leaves)
	}
}

func TestJain(t *testing.T) {
	require.InDelta(t, 1, Jain([]float64{3, 3, 3}), 1e-15)
	require.InDelta(t, 0.25, Jain([]float64{0, 5, 0, 0}), 1e-15)
	require.InDelta(t, 0.9, Jain([]float64{1, 2}), 1e-15)
	require.Zero(t, Jain(nil))
	require.Zero(t, Jain([]float64{0, 0}))
}

// The statistics of the queue are those of its lengths weighted by time.
func TestQueueStatistics(t *testing.T) {
	var l lengths
	l.was(0, 100)  // 100 at 0
	l.was(4, 990)  // 890 at 4
	l.was(6, 1000) // 10 at 6
	q := l.queue(1000, 10)
	require.InDelta(t, 36.2, q.Mean, 1e-9)
	require.InDelta(t, 10*math.Sqrt(0.89*16+0.01*36-3.62*3.62), q.Deviation, 1e-9)
	require.Equal(t, 40.0, q.P99)
}
