//go:build linux

package interop

import "github.com/rocinante-rdma/roce/interop/guest"

// queueCells are all that is tried with shared receive queues, drained send queues and
// credits in one direction.
func queueCells(w way) (all []cell) {
	all = []cell{sharedReceives{}, drainedSends{}, drainedSends{lossy: true}}
	if w.requests == guest.ToGuest {
		return append(all, changedPath{}, uncountedReceives{})
	}
	return append(all, countedReceives{})
}
