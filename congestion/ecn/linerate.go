package ecn

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

const (
	// leastInterval is over how long a rate must be seen to be believed.
	leastInterval = time.Millisecond
	// leastSpan keeps a burst at one instant from looking like an endless rate: a window
	// of 192 KiB is no more than 16 Gb/s.
	leastSpan = 100 * time.Microsecond
)

// lineRate measures what a link carries that does not say how fast it is: the largest
// rate of sending over any interval of 1 ms or a little more in which nothing limited the
// flow; and over less where a CNP ends an interval, for what a flow that was nearly idle
// sent in earlier ones says nothing of the link. The window lets into the network what the
// network delivers, and once a window more: so much the rate may be too large, which costs
// a CNP or two more to come down.
type lineRate struct {
	best  float64 // bit/s, of whole intervals
	early float64 // bit/s, of those that a CNP ended

	running bool       // an interval began
	began   clock.Time // when
	bytes   int64      // since then
}

// sent tells of bytes that were sent while nothing limited the flow, and reports whether
// that was the end of an interval. An interval begins behind a packet.
func (l *lineRate) sent(now clock.Time, bytes int) (whole bool) {
	if !l.running {
		l.running, l.began, l.bytes = true, now, 0
		return false
	}
	l.bytes += int64(bytes)
	span := now.Sub(l.began)
	if span < leastInterval {
		return false
	}
	l.best = max(l.best, bitsPerSec(l.bytes, span))
	l.began, l.bytes = now, 0
	return true
}

// pause ends the interval early: from now on the flow is limited.
func (l *lineRate) pause(now clock.Time) {
	if l.running {
		l.early = max(l.early, bitsPerSec(l.bytes, max(now.Sub(l.began), leastSpan)))
	}
	l.running = false
}

// rate is the line rate as far as it is known, in bit/s, which may be 0.
func (l *lineRate) rate() float64 { return max(l.best, l.early) }

func bitsPerSec(bytes int64, span time.Duration) float64 {
	return float64(bytes) * 8e9 / float64(span)
}
