package flowsim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
)

func clockTime(ns int64) clock.Time { return clock.Time(ns) }

// What is out of range is refused with its name and what is allowed.
func TestRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"number of flows is 0, must be 1 to 10000":             func(c *Config) { c.Flows = nil },
		"capacity in bit/s is 0, must be":                      func(c *Config) { c.Capacity = 0 },
		"capacity in bit/s is NaN":                             func(c *Config) { c.Capacity = math.NaN() },
		"line rate in bit/s is 1e+20":                          func(c *Config) { c.Line = 1e20 },
		"packet size in bytes is 0":                            func(c *Config) { c.Packet = 0 },
		"buffer in bytes is 999, must be 1000 to":              func(c *Config) { c.Buffer = 999 },
		"marking probability is 1.5, must be 0 to 1":           func(c *Config) { c.Marking = 1.5 },
		"delay is -1ns":                                        func(c *Config) { c.Delay = -1 },
		"CNP interval is -1ns":                                 func(c *Config) { c.Interval = -1 },
		"length is 0s":                                         func(c *Config) { c.Length = 0 },
		"length is 2h0m0s":                                     func(c *Config) { c.Length = 2 * time.Hour },
		"time between samples is 1s":                           func(c *Config) { c.Sample = time.Second },
		"must be multiples of the time between samples":        func(c *Config) { c.Sample = 3 * time.Millisecond },
		"warm-up is 10ms":                                      func(c *Config) { c.WarmUp = c.Length },
		"number of samples of all flows is 3600000000":         func(c *Config) { c.Length, c.Sample = time.Hour, time.Microsecond },
		"start of flow 0 is -1ns":                              func(c *Config) { c.Flows[0].Start = -1 },
		"first rate of flow 0 in bit/s is 1, must be 1e+07 to": func(c *Config) { c.Flows[0].Rate = 1 },
		"MinRate in bit/s is 1, must be 1000 to":               func(c *Config) { c.Params.MinRate = 1 },
		"Gain is 0":                                            func(c *Config) { c.Params.Gain = 0 },
		"Kmin is 200001":                                       func(c *Config) { c.RED.Kmin = 200_001 },
		"largest number of events is -1":                       func(c *Config) { c.MaxEvents = -1 },
	} {
		c := scene(Flow{})
		spoil(&c)
		_, err := Run(c, nil)
		require.ErrorContains(t, err, want)
	}
}

// A simulation ends when it was told to, or when it has used up its events.
func TestBounded(t *testing.T) {
	c := scene(Flow{}, Flow{})
	c.Length = time.Hour
	c.Sample = 100 * time.Millisecond
	asked := 0
	_, err := Run(c, func() bool { asked++; return asked == 3 })
	require.ErrorIs(t, err, ErrStopped)
	require.Equal(t, 3, asked)

	c.MaxEvents = 100_000
	_, err = Run(c, nil)
	require.ErrorIs(t, err, ErrEvents)
	require.ErrorContains(t, err, "raise MaxEvents")
}
