package congestion

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// Limits of the plain window. A receiver with Linux's default socket buffer takes
// 128 packets of 1 KiB or 48 of 4 KiB without loss, but not 128 of 4 KiB.
const (
	startPackets = 128
	startBytes   = 192 << 10
	minPackets   = 1
	maxPackets   = 2048

	// tolerance is the share of packets, one in so many, that may be lost singly
	// without it being the window's fault.
	tolerance = 16
)

// Window limits the packets in flight: it starts at min(128 packets, 192 KiB), and
// grows by one packet for each full window acknowledged. It halves whenever the
// requester goes back, which it does once per loss. Where the peer keeps what comes
// behind a lost packet, losses up to one packet in sixteen are taken for the network's;
// beyond, the window shrinks by the share that was lost, to what a buffer on the way
// takes. It stays between 1 and 2048 packets. The zero Window is ready to Start.
type Window struct {
	limit  int // packets
	acked  int // packets acknowledged since the window last changed
	holes  int // packets lost singly since then
	pmtu   int
	losses uint64
}

var _ Controller = (*Window)(nil)

// Start implements Controller.
func (w *Window) Start(_ clock.Time, pathMTU int) {
	*w = Window{limit: min(startPackets, startBytes/pathMTU), pmtu: pathMTU}
}

// Sent implements Controller; the window is counted by the caller.
func (w *Window) Sent(clock.Time, int) {}

// Acked implements Controller.
func (w *Window) Acked(_ clock.Time, packets int, _ time.Duration) {
	w.acked += packets
	if w.acked < w.limit {
		return
	}
	if w.holes*tolerance > w.acked {
		w.set(w.limit * max(w.acked-w.holes, 0) / w.acked)
	} else {
		w.set(w.limit + 1)
	}
}

// set begins anew with another limit.
func (w *Window) set(limit int) {
	w.limit = min(max(limit, minPackets), maxPackets)
	w.acked, w.holes = 0, 0
}

// Lost implements Controller.
func (w *Window) Lost(clock.Time) {
	w.losses++
	w.set(w.limit / 2)
}

// Hole implements Controller.
func (w *Window) Hole(_ clock.Time, packets int) {
	w.losses++
	w.holes += packets
}

// CNP implements Controller. The plain window does not react to marks.
func (w *Window) CNP(clock.Time) {}

// Advance implements Controller.
func (w *Window) Advance(clock.Time) {}

// Deadline implements Controller.
func (w *Window) Deadline() clock.Time { return clock.Never }

// NextSend implements Controller.
func (w *Window) NextSend(now clock.Time, inflight, _ int) clock.Time {
	if inflight == 0 || inflight < w.limit {
		return now
	}
	return clock.Never
}

// Rate implements Controller.
func (w *Window) Rate() Rate {
	return Rate{Packets: w.limit, PathMTU: w.pmtu, LossesSoFar: w.losses}
}
