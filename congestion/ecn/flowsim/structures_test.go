package flowsim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The agenda's first entry is always the earliest.
func TestAgenda(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 21, 100} {
		times := make([]instant, n)
		entries := make([]entry, n)
		for i := range entries {
			times[i] = instant(random.IntN(50))
			entries[i] = entry{times[i], int32(i)}
		}
		a := makeAgenda(entries)
		for range 1000 {
			first := a[0]
			require.Equal(t, slices.Min(times), first.at)
			require.Equal(t, times[first.flow], first.at)
			times[first.flow] += instant(random.IntN(50))
			a.postpone(times[first.flow])
		}
	}
}

// A ring gives back what it got, in order, while it grows and wraps.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var r ring[int]
	in, out := 0, 0
	for range 10_000 {
		for range random.IntN(8) {
			r.push(in)
			in++
		}
		for range min(random.IntN(8), r.len) {
			require.Equal(t, out, r.first())
			require.Equal(t, out, r.pop())
			out++
		}
		require.Equal(t, in-out, r.len)
	}
}

// Steps allocate nothing once the queue has its size.
func TestStepsDoNotAllocate(t *testing.T) {
	c := scene(make([]Flow, 20)...)
	c.Sample = 10 * 1e6
	s := newSim(&c)
	for range 200_000 {
		s.step()
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for range 1000 {
			s.step()
		}
	}))
}

// BenchmarkRun reports the time of an event, with a few flows and with many.
func BenchmarkRun(b *testing.B) {
	for name, flows := range map[string]int{"2flows": 2, "64flows": 64} {
		b.Run(name, func(b *testing.B) {
			c := scene(Equal(flows, 40e9)...)
			var events int64
			for b.Loop() {
				r, err := Run(c, nil)
				require.NoError(b, err)
				events += r.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
