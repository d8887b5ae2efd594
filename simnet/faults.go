package simnet

import (
	"time"

	"github.com/rocinante-rdma/roce/fault"
)

// A world's faults are rules of package fault. Programs that need no more find them
// here.
type (
	// Match is [fault.Match]: its ends are the names of links.
	Match = fault.Match
	// Fault is [fault.Rule].
	Fault = fault.Rule
	// Random is [fault.Random].
	Random = fault.Random
)

// Drop is [fault.Drop].
func Drop(m Match) *Fault { return fault.Drop(m) }

// Duplicate is [fault.Duplicate].
func Duplicate(m Match) *Fault { return fault.Duplicate(m) }

// Delay is [fault.Delay], in the world's time.
func Delay(m Match, d time.Duration) *Fault { return fault.Delay(m, d) }

// Reorder is [fault.Reorder]. The frame waits for one millisecond at most.
func Reorder(m Match, overtakers int) *Fault { return fault.Reorder(m, overtakers) }

// Corrupt is [fault.Corrupt].
func Corrupt(m Match, bit int) *Fault { return fault.Corrupt(m, bit) }

// MarkCE is [fault.MarkCE].
func MarkCE(m Match) *Fault { return fault.MarkCE(m) }

// Partition is [fault.Partition].
func Partition(a, b string) *Fault { return fault.Partition(a, b) }

// Randomly is [fault.Randomly].
func Randomly(m Match, r Random) *Fault { return fault.Randomly(m, r) }
