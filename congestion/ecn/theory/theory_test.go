package theory

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// capacity is of the bottleneck, bit/s, in all of these tests.
const capacity = 40e9

var red = ecn.RED{Kmin: 40_000, Kmax: 200_000, Pmax: 0.1}

func paperFlow(packet int) Flow {
	return Flow{Params: ecn.Paper(), Packet: packet, Interval: ecn.DefaultInterval}
}

// TestRenewal proves the fixed point against what an independent program (Python, sums in
// place of closed forms) made of the same definition. The byte counter, which that too
// leaves out, has no part in it.
func TestRenewal(t *testing.T) {
	for _, want := range []struct {
		packet, flows        int
		marking, alpha, cnps float64
	}{
		{1000, 2, 0.00102518322, 0.117573204, 2272.86094},
		{1000, 4, 0.002523521, 0.139413831, 2727.64067},
		{1000, 8, 0.00617246772, 0.163499748, 3242.38669},
		{1000, 10, 0.00821811248, 0.171675852, 3420.39949},
		{1000, 16, 0.0149661404, 0.189466381, 3813.70858},
		{1000, 20, 0.019854172, 0.198144904, 4008.62163},
		{1000, 32, 0.0358108314, 0.216800613, 4434.64035},
		{1000, 64, 0.0837880611, 0.244885273, 5094.9426},
		{1500, 2, 0.00153738064, 0.117573204, 2272.86094},
		{1500, 4, 0.00378289243, 0.139413831, 2727.64067},
		{1500, 8, 0.00924439959, 0.163499748, 3242.38669},
		{1500, 10, 0.0123018074, 0.171675852, 3420.39949},
		{1500, 16, 0.0223650055, 0.189466381, 3813.70858},
		{1500, 20, 0.0296329446, 0.198144904, 4008.62163},
		{1500, 32, 0.0532324317, 0.216800613, 4434.64035},
		{1500, 64, 0.123011457, 0.244885273, 5094.9426},
	} {
		t.Run(fmt.Sprintf("%d flows of %d bytes", want.flows, want.packet), func(t *testing.T) {
			got, err := RenewalAtRate(paperFlow(want.packet), capacity/float64(want.flows))
			require.NoError(t, err)
			require.InEpsilon(t, want.marking, got.Marking, 1e-6)
			require.InEpsilon(t, want.alpha, got.Alpha, 1e-6)
			require.InEpsilon(t, want.cnps, got.CNPs, 1e-6)
		})
	}
}

// TestFluid proves the fixed point of the published model against published evaluations
// of its equations.
func TestFluid(t *testing.T) {
	for _, want := range []struct {
		packet, flows  int
		marking, alpha float64 // alpha 0: not known
	}{
		{1000, 2, 0.00078, 0.101},
		{1000, 4, 0.00189, 0.122},
		{1000, 8, 0.00455, 0.145},
		{1000, 10, 0.00603, 0.153},
		{1000, 16, 0.01087, 0.171},
		{1000, 20, 0.01435, 0.180},
		{1000, 64, 0.05905, 0.230},
		{1500, 2, 0.00117, 0},
		{1500, 10, 0.00903, 0},
		{1500, 64, 0.0867, 0},
	} {
		t.Run(fmt.Sprintf("%d flows of %d bytes", want.flows, want.packet), func(t *testing.T) {
			got, err := FluidAtRate(paperFlow(want.packet), capacity/float64(want.flows))
			require.NoError(t, err)
			require.InDelta(t, want.marking, got.Marking, 6e-6+want.marking/1000)
			if want.alpha != 0 {
				require.InDelta(t, want.alpha, got.Alpha, 6e-4)
			}
		})
	}
}

// TestBothWays proves that the closed and the open loop have the same points.
func TestBothWays(t *testing.T) {
	for name, of := range map[string]struct {
		atRate, atMarking func(Flow, float64) (Point, error)
	}{
		"renewal": {RenewalAtRate, RenewalAtMarking},
		"fluid":   {FluidAtRate, FluidAtMarking},
	} {
		for _, flows := range []float64{2, 10, 64} {
			closed, err := of.atRate(paperFlow(1000), capacity/flows)
			require.NoError(t, err)
			open, err := of.atMarking(paperFlow(1000), closed.Marking)
			require.NoError(t, err)
			require.InEpsilon(t, closed.Rate, open.Rate, 1e-9, name)
			require.InEpsilon(t, closed.Alpha, open.Alpha, 1e-9, name)
			require.InEpsilon(t, closed.CNPs, open.CNPs, 1e-9, name)
		}
	}
}

// TestQueue proves that RED marks as much at the queue that Queue gives.
func TestQueue(t *testing.T) {
	queue, ok := Queue(red, 0.00603)
	require.True(t, ok)
	require.InDelta(t, 49_648, queue, 0.5)
	require.InDelta(t, 0.00603, red.Probability(int(queue)), 1e-6)
	_, ok = Queue(red, 0.11)
	require.False(t, ok, "no queue is marked with 0.11")
}

// TestShortDelay proves that the published model, followed through time, stays on its own
// fixed point where the feedback is quick. (internal/dcqcnpage has more cases.)
func TestShortDelay(t *testing.T) {
	for _, flows := range []int{2, 64} {
		l := Loop{paperFlow(1000), flows, capacity, red, 10 * time.Microsecond}
		want, err := FluidAtRate(l.Flow, capacity/float64(flows))
		require.NoError(t, err)
		queue, _ := Queue(l.RED, want.Marking)
		got, err := l.Integrate(400*time.Millisecond, 100*time.Millisecond)
		require.NoError(t, err)
		t.Logf("%d flows: %+v", flows, got)
		require.InEpsilon(t, queue, got.Queue, 0.01)
		require.InEpsilon(t, want.Marking, got.Marking, 0.01)
		require.InEpsilon(t, want.Alpha, got.Alpha, 0.01)
		require.InDelta(t, 1, got.Utilisation, 0.001)
		require.Less(t, got.Deviation, got.Queue/100, "it does not oscillate")
	}
}

// TestLongDelay proves that with slow feedback it oscillates.
func TestLongDelay(t *testing.T) {
	l := Loop{paperFlow(1000), 10, capacity, red, 85 * time.Microsecond}
	got, err := l.Integrate(200*time.Millisecond, 100*time.Millisecond)
	require.NoError(t, err)
	t.Logf("%+v", got)
	require.Greater(t, got.Deviation, 30_000.0)
	require.Less(t, got.Utilisation, 0.98)
}

func TestRefused(t *testing.T) {
	f := paperFlow(1000)
	for _, rate := range []float64{0, -1, 1e15} {
		_, err := RenewalAtRate(f, rate)
		require.ErrorContains(t, err, "must be within")
	}
	for _, marking := range []float64{0, -1, 1} {
		_, err := FluidAtMarking(f, marking)
		require.ErrorContains(t, err, "must be within")
	}
	_, err := FluidAtRate(Flow{ecn.Paper(), 0, ecn.DefaultInterval}, capacity)
	require.ErrorContains(t, err, "packets of 0 bytes")
	_, err = FluidAtRate(Flow{ecn.Paper(), 1000, 0}, capacity)
	require.ErrorContains(t, err, "CNP interval")
	l := Loop{f, 0, capacity, ecn.RED{Kmin: 1, Kmax: 2, Pmax: 1}, 0}
	_, err = l.Integrate(0, time.Second)
	require.ErrorContains(t, err, "0 flows")
	l.Flows, l.Capacity = 1, 0
	_, err = l.Integrate(0, time.Second)
	require.ErrorContains(t, err, "capacity")
}
