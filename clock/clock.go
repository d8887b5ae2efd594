// Package clock is the project's notion of time: an 8-byte monotonic instant,
// passed as an argument to everything that cares about time.
//
// The protocol packages never ask what time it is: a shard reads its link's clock
// once per turn, so virtual and real time are the same to them.
//
// [Wheel] holds what waits for an instant.
package clock

import (
	"math"
	"time"
)

// Time is an instant in nanoseconds since an epoch that its source chooses (for
// real links the start of the process, for a simulated world its beginning).
// Times of different sources must not be compared.
type Time int64

// Never is later than every instant: the deadline of something not due.
const Never Time = math.MaxInt64

// Add returns t moved by d; Never stays Never.
func (t Time) Add(d time.Duration) Time {
	if t == Never {
		return Never
	}
	return t + Time(d)
}

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Earliest returns the earlier of two instants.
func Earliest(a, b Time) Time { return min(a, b) }

var start = time.Now()

// Now reads the monotonic clock: nanoseconds since the process started. It is for
// links and commands; protocol code takes the time as an argument.
func Now() Time { return Time(time.Since(start)) }

// String prints the instant as a duration since its epoch.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}
