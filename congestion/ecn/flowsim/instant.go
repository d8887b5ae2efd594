package flowsim

import (
	"math"
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// instant is a time since the start, or a time between two, in picoseconds: a packet of
// 1000 bytes takes 200 000 of them at 40 Gb/s, so that rounding is nothing.
type instant int64

const (
	nanosecond = 1000
	second     = 1e12
	never      = instant(math.MaxInt64)
)

// instantOf converts a time that Validate has bounded.
func instantOf(d time.Duration) instant { return instant(d) * nanosecond }

// clock is the time as package ecn takes it, rounded down.
func (t instant) clock() clock.Time { return clock.Time(t / nanosecond) }

// due is a deadline of package ecn.
func due(t clock.Time) instant {
	if t > clock.Time(never/nanosecond) {
		return never
	}
	return instant(t) * nanosecond
}

// spacing is the time that so many bytes take at a rate in bit/s.
func spacing(bytes int, rate float64) instant {
	return instant(float64(8*bytes) * second / rate)
}
