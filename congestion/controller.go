package congestion

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// Controller is the congestion control of one queue pair. Two call it, under the shard's
// lock: the transport machine, which tells what the peer acknowledged or lost and asks how
// many packets may be in flight; and the engine, which tells what was sent and what the
// network said of it, and asks when the next packet may leave. It is not safe for concurrent
// use, and must neither block nor allocate.
type Controller interface {
	// Start tells of a new connection with this path MTU in bytes: everything
	// learned before is forgotten.
	Start(now clock.Time, pathMTU int)

	// What the machine calls, of its requests.

	// Acked tells of packets newly acknowledged; rtt is 0 when it was not measured.
	Acked(now clock.Time, packets int, rtt time.Duration)
	// Lost tells that the requester goes back because packets were lost: once for
	// each time that it does, not for each packet.
	Lost(now clock.Time)
	// Hole tells of packets that were lost without what came behind them, so that
	// the requester does not go back; they are acknowledged later.
	Hole(now clock.Time, packets int)
	// Window is how many packets may be in flight, at least one.
	Window() int

	// What the engine calls, of everything that is paced: requests, and the answers to
	// READs and atomics.

	// Sent tells of a packet that takes so many bytes on the wire, what Ethernet adds
	// included: also one sent again.
	Sent(now clock.Time, bytes int)
	// CNP tells of a congestion notification from the peer.
	CNP(now clock.Time)
	// NextSend is when the next packet may leave: now or earlier if at once, and never
	// clock.Never. Whoever comes back then asks again.
	NextSend(now clock.Time) clock.Time

	// Rate is the controller's present allowance, for people.
	Rate() Rate
}

// Rate is what a controller allows, and why.
type Rate struct {
	Packets     int // in flight at most
	PathMTU     int // bytes per packet the window was made for
	LossesSoFar uint64

	BitsPerSec float64 // paced at this rate; 0: not paced
	Target     float64 // bit/s that DCQCN's fast recovery aims at; 0 without it
	Alpha      float64 // DCQCN's estimate of congestion, 0 to 1
	Line       float64 // bit/s without congestion, as far as it is known; 0 without DCQCN
}
