package congestionlab

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// two senders that begin 10 ms apart, for 100 ms.
const two = "senders=2 starts=0ms,10ms duration=100ms "

func run(t *testing.T, words string) *Result {
	t.Helper()
	r, err := Run(context.Background(), build(t, words), Options{})
	require.NoError(t, err)
	u := &r.Summary
	t.Logf("%s: Jain %.4f, in windows %.4f, fair after %v, queue mean %.0f, p99 %d, most %d B, utilisation %.4f, drops %d, settled %d, CE %d, CNPs %d",
		words, u.Jain, u.JainWindows, u.Converged, u.QueueMean, u.QueueP99, u.QueueMost, u.Utilisation, u.Drops, u.DropsSettled, u.Marks, u.CNPs)
	return r
}

// With DCQCN two flows share the bottleneck, fill it, and lose nothing once settled, and
// the queue stays below Kmax; whoever sends the data is limited.
func TestControlled(t *testing.T) {
	for _, operation := range []string{"write", "read"} {
		r := run(t, two+"operation="+operation)
		u := &r.Summary
		require.NotZero(t, u.Marks)
		require.NotZero(t, u.CNPs)
		require.LessOrEqual(t, u.CNPs, 2*int(r.Scenario.Duration/r.Scenario.CNPInterval), "no more often than the interval allows")
		require.Zero(t, u.DropsSettled)
		require.Greater(t, u.Jain, 0.97)
		require.Greater(t, u.JainWindows, 0.95)
		require.GreaterOrEqual(t, u.Converged, 10*time.Millisecond)
		require.Greater(t, u.Utilisation, 0.95)
		require.Less(t, u.QueueP99, r.Scenario.RED.Kmax)
		for i, f := range u.Flows {
			require.NotZero(t, f.CNPs, "flow %d", i+1)
			last := r.Samples[len(r.Samples)-1].Flows[i]
			require.Less(t, last.Rate, 0.8*r.Scenario.Rate)
			require.Positive(t, last.Alpha)
		}
	}
}

// The lone first flow is never marked, and runs at the line rate; nothing is limited
// before the second one comes.
func TestAloneAtLineRate(t *testing.T) {
	r := run(t, two+"duration=20ms")
	for _, s := range r.Samples[1:5] {
		require.Zero(t, s.Marks+s.CNPs)
		require.Equal(t, FlowSample{Delivered: s.Flows[0].Delivered, Rate: 1e9, Target: 1e9}, s.Flows[0])
		require.InDelta(t, 1e9, s.Flows[0].Delivered, 1e7)
	}
}

// Without control nothing is marked, the queue fills the buffer, and packets are lost.
func TestUncontrolled(t *testing.T) {
	for _, operation := range []string{"write", "read"} {
		u := run(t, two+"dcqcn=off buffer=150KB operation="+operation).Summary
		require.Zero(t, u.Marks)
		require.Zero(t, u.CNPs)
		require.NotZero(t, u.Drops)
		require.Greater(t, u.QueueMost, 148_000, "up to the last packet that there is room for")
		require.Greater(t, u.Utilisation, 0.9)
		require.NotZero(t, u.Retransmitted)
	}
}

// With QCN's timers and marking from one length of the queue on, a flow that fell behind
// does not catch up; with DCQCN's timers it does.
func TestTimersMatter(t *testing.T) {
	if testenv.Race {
		t.Skip("takes ten seconds under the race detector, which finds nothing more in a run of one goroutine")
	}
	const cutOff = "senders=2 starts=0,50ms duration=300ms kmin=40KB kmax=40KB "
	slow := run(t, cutOff+"timer=1500us byte-counter=150KB").Summary
	fast := run(t, cutOff).Summary
	require.Less(t, slow.Jain, 0.8)
	require.Negative(t, slow.Converged)
	require.Greater(t, fast.Jain, 0.99)
	require.GreaterOrEqual(t, fast.Converged, 10*time.Millisecond)
}

// The same seed gives the same bytes, another seed others.
func TestSameSeedSameBytes(t *testing.T) {
	seed := testenv.Seed(t)
	outcome := func(seed uint64) (csv, capture string) {
		s := build(t, "senders=2 starts=0ms,2ms duration=20ms")
		s.Seed = seed
		var packets, samples bytes.Buffer
		rec := newCapture(&packets)
		r, err := Run(context.Background(), s, Options{Recorder: rec})
		require.NoError(t, err)
		require.NoError(t, rec.Close())
		require.NoError(t, writeSamples(&samples, r))
		return samples.String(), packets.String()
	}
	csv, capture := outcome(seed)
	csv2, capture2 := outcome(seed)
	csv3, capture3 := outcome(seed + 1)
	require.Equal(t, csv, csv2)
	require.True(t, capture == capture2, "the captures differ")
	require.NotEqual(t, csv, csv3)
	require.False(t, capture == capture3, "another seed, the same capture")
}

// A run that is cancelled ends there, and says when.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("seen enough")
	seen := 0
	_, err := Run(ctx, build(t, ""), Options{Progress: func(*Sample) {
		if seen++; seen == 3 {
			cancel(enough)
		}
	}})
	require.ErrorIs(t, err, enough)
	require.ErrorContains(t, err, "the run ended at 6.04ms of 400ms")
	require.Equal(t, 3, seen)
}

// However long a sample and fast the network, a run that is cancelled does not go on for
// much longer.
func TestCancelWithinASample(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, build(t, "senders=2 starts=0,0 rate=100Gb/s message=1 sample=1s duration=1s mtu=4096"), Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "the run ended at 8µs of 1s")
}

// Devices that send without end are stopped by the number of their frames.
func TestRunaway(t *testing.T) {
	s := build(t, two)
	l, err := newLab(&s, nil)
	require.NoError(t, err)
	defer l.close()
	l.world.Attach(l)
	require.NoError(t, l.world.Run(clock.Time(time.Millisecond)))
	l.mostFrames = 10
	require.ErrorContains(t, l.runaway(), "frames were sent, which is more than any scenario may")
}
