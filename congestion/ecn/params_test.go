package ecn_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// TestSets proves that the sets are found by name and valid.
func TestSets(t *testing.T) {
	for name, want := range map[string]ecn.Params{"paper": ecn.Paper(), "connectx": ecn.ConnectX()} {
		p, err := ecn.Named(name)
		require.NoError(t, err)
		require.Equal(t, want, p)
		require.NoError(t, p.Validate())
	}
	_, err := ecn.Named("Paper")
	require.EqualError(t, err, `ecn: no parameter set is called "Paper"; there are "paper" and "connectx"`)
}

// TestValidate proves for every parameter that its limits are allowed, and that what is
// beyond them is refused with its name, its value and its range.
func TestValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	const rate = "must be 1e+06 to 1e+12"
	for _, c := range []struct {
		name    string
		set     func(p *ecn.Params, v float64)
		allowed []float64
		refused []float64
		text    string
	}{
		{"Gain", func(p *ecn.Params, v float64) { p.Gain = v },
			[]float64{1e-9, 1}, []float64{0, -0.1, 1.01, nan, inf}, "must be more than 0 and at most 1"},
		{"AlphaPeriod", func(p *ecn.Params, v float64) { p.AlphaPeriod = time.Duration(v) },
			[]float64{1e3, 1e9}, []float64{0, -1, 999, 1e9 + 1}, "must be 1µs to 1s"},
		{"InitialAlpha", func(p *ecn.Params, v float64) { p.InitialAlpha = v },
			[]float64{0, 1}, []float64{-0.1, 1.1, nan, inf}, "must be 0 to 1"},
		{"Timer", func(p *ecn.Params, v float64) { p.Timer = time.Duration(v) },
			[]float64{1e3, 1e9}, []float64{0, -1, 999, 1e9 + 1}, "must be 1µs to 1s"},
		{"Bytes", func(p *ecn.Params, v float64) { p.Bytes = int64(v) },
			[]float64{0, 64, 1e12}, []float64{-1, 1, 63, 1e12 + 1}, "must be 0 or 64 to 1000000000000"},
		{"FastRecovery", func(p *ecn.Params, v float64) { p.FastRecovery = int(v) },
			[]float64{1, 31}, []float64{0, -1, 32}, "must be 1 to 31"},
		{"AdditiveIncrease", func(p *ecn.Params, v float64) { p.AdditiveIncrease = v },
			[]float64{1e6, 1e12}, []float64{0, -1, 1e6 - 1, 2e12, nan, inf}, rate},
		{"HyperIncrease", func(p *ecn.Params, v float64) { p.HyperIncrease = v },
			[]float64{1e6, 1e12}, []float64{0, -1, 1e6 - 1, 2e12, nan, inf}, rate},
		{"MinRate", func(p *ecn.Params, v float64) { p.MinRate = v },
			[]float64{1e6, 1e12}, []float64{0, -1, 1e6 - 1, 2e12, nan, inf}, rate},
		{"MaxRate", func(p *ecn.Params, v float64) { p.MaxRate = v },
			[]float64{0, 1e7, 1e13}, []float64{-1, 1e7 - 1, 2e13, nan, inf}, "must be 0 or 1e+07 to 1e+13"},
		{"DecreaseInterval", func(p *ecn.Params, v float64) { p.DecreaseInterval = time.Duration(v) },
			[]float64{0, 1e9}, []float64{-1, 1e9 + 1}, "must be 0s to 1s"},
		{"MaxCut", func(p *ecn.Params, v float64) { p.MaxCut = v },
			[]float64{1e-9, 1}, []float64{0, -0.1, 1.01, nan, inf}, "must be more than 0 and at most 1"},
		{"FirstRate", func(p *ecn.Params, v float64) { p.FirstRate = v },
			[]float64{0, 0.85}, []float64{-0.1, 0.86, nan, inf}, "must be 0 to 0.85"},
	} {
		for _, v := range c.allowed {
			p := ecn.Paper()
			c.set(&p, v)
			require.NoError(t, p.Validate(), "%s %v", c.name, v)
		}
		for _, v := range c.refused {
			p := ecn.Paper()
			c.set(&p, v)
			require.ErrorContains(t, p.Validate(), "ecn: "+c.name+" is ", "%v", v)
			require.ErrorContains(t, p.Validate(), c.text, "%s %v", c.name, v)
		}
	}

	p := ecn.Paper()
	p.FastRecovery, p.MaxCut = 0, 7
	require.EqualError(t, p.Validate(), "ecn: FastRecovery is 0, must be 1 to 31\necn: MaxCut is 7, must be more than 0 and at most 1")
}

// TestConfig proves that a controller refuses what is out of range, and takes the zero
// parameters for the paper's.
func TestConfig(t *testing.T) {
	c, err := ecn.New(ecn.Config{LineRate: 40 * gbps})
	require.NoError(t, err)
	c.Start(0, 1024)
	c.CNP(0)
	require.Equal(t, 20*gbps, c.Rate().BitsPerSec)

	_, err = ecn.New(ecn.Config{Params: ecn.Params{Gain: 0.5}})
	require.ErrorContains(t, err, "ecn: Timer is 0s, must be 1µs to 1s")
	for _, rate := range []float64{-1, 2e13, math.NaN()} {
		_, err = ecn.New(ecn.Config{LineRate: rate})
		require.ErrorContains(t, err, "must be 0 (measure it) or up to 1e+13")
	}
}
