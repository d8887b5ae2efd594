package flowsim

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// notifier is the notification point of one flow. It is told of a marked packet, and says
// whether a CNP answers it and when that leaves.
type notifier interface {
	marked(now clock.Time) (leaves clock.Time, owed bool)
}

func newNotifier(c *Config) notifier {
	interval := c.Interval
	if interval == 0 {
		interval = ecn.DefaultInterval
	}
	if c.Windows {
		return &windowed{interval: interval}
	}
	return &prompt{ecn.NP{Interval: interval}}
}

// prompt is the usual one: it answers at once, if the interval has passed since it last did.
type prompt struct{ np ecn.NP }

func (p *prompt) marked(now clock.Time) (leaves clock.Time, owed bool) {
	p.np.Marked(now)
	if !p.np.Due() {
		return 0, false
	}
	p.np.Sent(now)
	return now, true
}

// windowed is what the published fluid model assumes: time is cut into windows of the
// interval, the same for all flows, and at the end of each in which a marked packet came
// a CNP leaves.
type windowed struct {
	interval time.Duration
	end      clock.Time // of the window that has its mark
}

func (w *windowed) marked(now clock.Time) (leaves clock.Time, owed bool) {
	if now < w.end {
		return 0, false
	}
	w.end = now - now%clock.Time(w.interval) + clock.Time(w.interval)
	return w.end, true
}

// cnps are those under way, in the order in which they come: whatever leaves later comes
// later.
type cnps struct {
	ring[entry]
}

// at is when the next one comes.
func (c *cnps) at() instant {
	if c.len == 0 {
		return never
	}
	return c.first().at
}
