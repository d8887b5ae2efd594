package trace

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/transport"
)

// Direction of a packet, seen from the device.
type Direction uint8

// Directions.
const (
	In Direction = iota
	Out
)

// String names the direction: "in" or "out".
func (d Direction) String() string {
	if d == Out {
		return "out"
	}
	return "in"
}

// Event is one packet that a device sent or received, and what the device thought
// of it. All slices are lent for the duration of the call.
type Event struct {
	Time clock.Time
	Dir  Direction
	QPN  uint32 // the local queue pair, 0 if none was found

	Src, Dst     netip.Addr
	SrcPort      uint16
	TrafficClass uint8  // received: only the two ECN bits are known
	ID           uint16 // IPv4 identification, sent or (if IDKnown) received
	IDKnown      bool
	Flags        uint16 // IPv4 flags and fragment offset

	// Frame is the UDP payload, BTH … ICRC, in pieces.
	Frame [][]byte

	ICRC    ICRC
	Cause   transport.Cause   // Dir == Out: why it was sent
	Verdict transport.Verdict // Dir == In: what was done with it
}

// ICRC is what is known of a packet's invariant CRC.
type ICRC uint8

// ICRC states.
const (
	ICRCGood     ICRC = iota // sealed here, or verified with everything known
	ICRCInferred             // verified by solving for the unseen IPv4 identification: 16 bits strong
	ICRCBad
	ICRCUnchecked
)

// String says what is known of the ICRC, in one word.
func (i ICRC) String() string {
	switch i {
	case ICRCGood:
		return "good"
	case ICRCInferred:
		return "inferred"
	case ICRCBad:
		return "bad"
	default:
		return "unchecked"
	}
}

// Tap receives one event per packet, after the device has dealt with it. The
// engine calls it under the shard's lock: it must copy what it keeps, and it must
// not block.
type Tap interface {
	Packet(e *Event)
}
