package congestion

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// Limits of the plain window. A receiver with Linux's default socket buffer takes
// 92 packets of 1 KiB, 48 of 2 KiB or 25 of 4 KiB that nobody reads.
const (
	startPackets = 128
	startBytes   = 192 << 10
	minPackets   = 1
	maxPackets   = 2048
)

// Window limits the packets in flight: it starts at min(128 packets, 192 KiB), grows by
// one packet for each full window acknowledged, and halves when a loss is its own fault:
// when the requester goes back, which it does once per loss, or when more packets were
// lost singly than the network loses anyhow (see background). It stays between 1 and 2048
// packets. The zero Window is ready to Start.
type Window struct {
	limit  int // packets
	acked  int // packets acknowledged since the window last changed
	pmtu   int
	losses uint64
	background
}

var _ Controller = (*Window)(nil)

// Start implements Controller.
func (w *Window) Start(_ clock.Time, pathMTU int) {
	*w = Window{limit: min(startPackets, startBytes/pathMTU), pmtu: pathMTU}
}

// Sent implements Controller; what is in flight is counted by the caller.
func (w *Window) Sent(clock.Time, int) {}

// Acked implements Controller.
func (w *Window) Acked(_ clock.Time, packets int, _ time.Duration) {
	w.arrived(packets)
	w.acked += packets
	if w.acked >= w.limit {
		w.acked = 0
		w.limit = min(w.limit+1, maxPackets)
		w.grown(w.limit)
	}
}

// Lost implements Controller.
func (w *Window) Lost(clock.Time) {
	w.losses++
	w.halve()
}

// Hole implements Controller.
func (w *Window) Hole(_ clock.Time, packets int) {
	w.losses++
	if !w.excuses(packets) {
		w.halve()
	}
}

func (w *Window) halve() {
	w.overflown(w.limit)
	w.acked = 0
	w.limit = max(w.limit/2, minPackets)
}

// CNP implements Controller. The plain window does not react to marks.
func (w *Window) CNP(clock.Time) {}

// NextSend implements Controller: whatever fits the window leaves at once.
func (w *Window) NextSend(clock.Time) clock.Time { return 0 }

// Window implements Controller.
func (w *Window) Window() int { return w.limit }

// Rate implements Controller.
func (w *Window) Rate() Rate {
	return Rate{Packets: w.limit, PathMTU: w.pmtu, LossesSoFar: w.losses}
}
