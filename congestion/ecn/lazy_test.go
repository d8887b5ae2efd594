package ecn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// drawParams draws valid parameters, most of them not far from the sets'.
func drawParams(t *rapid.T) ecn.Params {
	p, err := ecn.Named(rapid.SampledFrom([]string{"paper", "connectx"}).Draw(t, "set"))
	require.NoError(t, err)
	p.Gain = rapid.Float64Range(1e-4, 1).Draw(t, "gain")
	p.AlphaPeriod = time.Duration(rapid.Int64Range(1000, 100_000).Draw(t, "alpha period"))
	p.Timer = time.Duration(rapid.Int64Range(1000, 2_000_000).Draw(t, "timer"))
	p.Bytes = rapid.SampledFrom([]int64{0, 64, 2_000, 150_000, 10_000_000}).Draw(t, "bytes")
	p.FastRecovery = rapid.IntRange(1, 8).Draw(t, "F")
	p.StageBefore = rapid.Bool().Draw(t, "stage before")
	p.HyperByStage = rapid.Bool().Draw(t, "hyper by stage")
	p.ClampTarget = rapid.Bool().Draw(t, "clamp target")
	p.FirstRate = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "first rate")
	p.MaxRate = rapid.SampledFrom([]float64{0, 7 * gbps}).Draw(t, "max rate")
	require.NoError(t, p.Validate())
	return p
}

// TestLazy proves that it makes no difference how often and when a flow is advanced: one
// that is told of packets and CNPs only has the same state, to the last bit, as one that
// is advanced at arbitrary times between. And rate, target and α are always in bounds.
func TestLazy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		var lazy, eager ecn.RP
		lazy.Init(p, 10*gbps)
		eager.Init(p, 10*gbps)
		now := clock.Time(rapid.Int64Range(0, 1e15).Draw(t, "start"))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			for range rapid.IntRange(0, 4).Draw(t, "pauses") {
				now += clock.Time(rapid.Int64Range(0, 400_000).Draw(t, "pause"))
				eager.Advance(now)
			}
			switch bytes := rapid.IntRange(-1, 200_000).Draw(t, "bytes"); {
			case bytes > 0 && bytes < 150_000:
				lazy.Sent(now, bytes)
				eager.Sent(now, bytes)
			default:
				require.Equal(t, eager.CNP(now), lazy.CNP(now))
			}
			inBounds(t, p, &lazy)
		}
		lazy.Advance(now)
		eager.Advance(now)
		require.Equal(t, eager, lazy)
	})
}

func inBounds(t *rapid.T, p ecn.Params, r *ecn.RP) {
	top := 10 * gbps
	if p.MaxRate > 0 {
		top = p.MaxRate
	}
	require.GreaterOrEqual(t, r.Rate(), p.MinRate)
	require.LessOrEqual(t, r.Rate(), r.Target())
	require.LessOrEqual(t, r.Target(), top)
	require.GreaterOrEqual(t, r.Alpha(), 0.)
	require.LessOrEqual(t, r.Alpha(), 1.)
}

// TestIdle proves that a flow left alone for a year is as one that was watched.
func TestIdle(t *testing.T) {
	for _, p := range []ecn.Params{ecn.Paper(), ecn.ConnectX()} {
		newFlow(t, p).cnp().after(365 * 24 * time.Hour).free()
	}
}

// TestNoAllocation proves that the reaction point, the notification point and the
// controller allocate nothing.
func TestNoAllocation(t *testing.T) {
	var rp ecn.RP
	rp.Init(ecn.Paper(), 40*gbps)
	var np ecn.NP
	c, err := ecn.New(ecn.Config{LineRate: 40 * gbps})
	require.NoError(t, err)
	c.Start(0, 1024)
	now := clock.Time(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 10_007
		np.Marked(now)
		if np.Due() {
			np.Sent(now)
			rp.CNP(now)
			c.CNP(now)
		}
		rp.Sent(now, 1090)
		if c.NextSend(now) <= now {
			c.Sent(now, 1090)
		}
		_ = c.Rate()
	}))
}
