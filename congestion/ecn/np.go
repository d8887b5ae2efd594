package ecn

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// DefaultInterval is the least time between two CNPs of a flow, the paper's.
const DefaultInterval = 50 * time.Microsecond

// NP is the notification point of one flow: it says when a CNP is owed to the sender. A
// mark that comes after a quiet time is answered at once; marks less than the interval
// after the last CNP left are forgotten. So gaps between CNPs are the interval and the
// wait for the next mark. The zero NP is ready. It is not safe for concurrent use.
type NP struct {
	// Interval is the least time between two CNPs. 0: DefaultInterval.
	Interval time.Duration

	owed  bool
	quiet clock.Time // marks before this are forgotten
}

// Marked tells of a data packet that came marked CE.
func (n *NP) Marked(now clock.Time) {
	if now >= n.quiet {
		n.owed = true
	}
}

// Due reports whether a CNP must be sent.
func (n *NP) Due() bool { return n.owed }

// Sent tells that the CNP left.
func (n *NP) Sent(now clock.Time) {
	n.owed = false
	n.quiet = now.Add(n.interval())
}

func (n *NP) interval() time.Duration {
	if n.Interval > 0 {
		return n.Interval
	}
	return DefaultInterval
}
