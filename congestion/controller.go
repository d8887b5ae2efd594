package congestion

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// Controller paces one queue pair's requests. It is called under the shard's lock
// and is not safe for concurrent use. It must not block or allocate.
type Controller interface {
	// Start tells of a new connection with this path MTU in bytes: everything
	// learned before is forgotten.
	Start(now clock.Time, pathMTU int)
	// Sent tells of a request packet of n bytes that was sent.
	Sent(now clock.Time, n int)
	// Acked tells of packets newly acknowledged; rtt is 0 when it was not measured.
	Acked(now clock.Time, packets int, rtt time.Duration)
	// Lost tells that the requester goes back because packets were lost: once for
	// each time that it does, not for each packet.
	Lost(now clock.Time)
	// Hole tells of packets that were lost without what came behind them, so that
	// the requester does not go back; they are acknowledged later.
	Hole(now clock.Time, packets int)
	// CNP tells of a congestion notification from the peer.
	CNP(now clock.Time)
	// Advance does what is due; Deadline says when that is next.
	Advance(now clock.Time)
	Deadline() clock.Time
	// NextSend says when a packet of n bytes may be sent while inflight packets are
	// unacknowledged: now or earlier if at once, clock.Never if an acknowledgement
	// must come first. With nothing in flight it must never answer clock.Never.
	NextSend(now clock.Time, inflight, n int) clock.Time
	// Rate is the controller's present allowance, for people.
	Rate() Rate
}

// Rate is what a controller allows.
type Rate struct {
	Packets     int // in flight at most
	PathMTU     int // bytes per packet the window was made for
	LossesSoFar uint64
	BitsPerSec  float64 // paced at this rate; 0: not paced
	Target      float64 // bit/s that DCQCN's fast recovery aims at; 0 without it
	Alpha       float64 // DCQCN's estimate of congestion, 0 to 1
	Line        float64 // bit/s without congestion, as far as it is known; 0 without DCQCN
}
