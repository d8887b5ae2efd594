package ecn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

const (
	µs = time.Microsecond
	ms = time.Millisecond

	mbps = 1e6
	gbps = 1e9
)

// flow is a reaction point to converse with. Its expectations are in Mb/s.
type flow struct {
	t   *testing.T
	rp  ecn.RP
	now clock.Time
}

// newFlow is a flow at a line rate of 40 Gb/s.
func newFlow(t *testing.T, p ecn.Params) *flow {
	t.Helper()
	require.NoError(t, p.Validate())
	f := &flow{t: t, now: 1_000_003}
	f.rp.Init(p, 40*gbps)
	return f
}

// at is a flow that goes at this rate, as if for long.
func (f *flow) at(rate float64) *flow {
	f.rp.Limit(f.now, rate*mbps)
	return f
}

func (f *flow) after(d time.Duration) *flow {
	f.now = f.now.Add(d)
	f.rp.Advance(f.now)
	return f
}

func (f *flow) cnp() *flow {
	f.t.Helper()
	require.True(f.t, f.rp.CNP(f.now), "the CNP was not obeyed")
	return f
}

func (f *flow) ignoredCNP() *flow {
	f.t.Helper()
	require.False(f.t, f.rp.CNP(f.now), "the CNP was obeyed")
	return f
}

func (f *flow) sent(bytes int) *flow {
	f.rp.Sent(f.now, bytes)
	return f
}

// goes expects the rate and the target.
func (f *flow) goes(rate, target float64) *flow {
	f.t.Helper()
	require.Equal(f.t, rate, f.rp.Rate()/mbps, "rate")
	require.Equal(f.t, target, f.rp.Target()/mbps, "target")
	return f
}

func (f *flow) alpha(want float64) *flow {
	f.t.Helper()
	require.InDelta(f.t, want, f.rp.Alpha(), 1e-12, "alpha")
	return f
}

// limits expects that the flow is limited and when its rate rises next.
func (f *flow) limits(next time.Duration) *flow {
	f.t.Helper()
	require.True(f.t, f.rp.Limiting())
	require.Equal(f.t, f.now.Add(next), f.rp.Deadline())
	return f
}

// free expects a flow at line rate that remembers nothing.
func (f *flow) free() *flow {
	f.t.Helper()
	require.False(f.t, f.rp.Limiting())
	require.Equal(f.t, clock.Never, f.rp.Deadline())
	return f.goes(40_000, 40_000).alpha(0)
}
