package simnet

import (
	"fmt"
	"strings"
)

// Stats counts what was done to frames. At every moment what was Sent or
// Duplicated was Delivered, Dropped or is on its way.
type Stats struct {
	Steps [steps]uint64   // by Step
	Drops [reasons]uint64 // by Reason; they add up to Steps[Dropped]
}

// InFlight is the number of frames between their sender's Flush and their
// receiver's inbox.
func (s Stats) InFlight() uint64 {
	return s.Steps[Sent] + s.Steps[Duplicated] - s.Steps[Delivered] - s.Steps[Dropped]
}

// String lists what is not zero.
func (s Stats) String() string {
	var b strings.Builder
	for step, n := range s.Steps {
		if n > 0 && Step(step) != Dropped {
			fmt.Fprintf(&b, "%d %v, ", n, Step(step))
		}
	}
	for why, n := range s.Drops {
		if n > 0 {
			fmt.Fprintf(&b, "%d dropped (%v), ", n, Reason(why))
		}
	}
	fmt.Fprintf(&b, "%d in flight", s.InFlight())
	return b.String()
}

// Stats returns the counters since the world began.
func (w *World) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}
