package trace

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
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

	ICRC    wire.ICRC         // of a packet sent: good
	Cause   transport.Cause   // Dir == Out: why it was sent
	Verdict transport.Verdict // Dir == In: what was done with it
}

// Tap receives one event per packet, after the device has dealt with it. The
// engine calls it under the shard's lock: it must copy what it keeps, and it must
// not block.
type Tap interface {
	Packet(e *Event)
}

// Only returns a tap that passes on to t only the events that keep chooses, such as
// [Congestion]. The others are neither recorded nor counted; so a [Ladder], which takes
// what the receiver does not tell of for lost, should be given both ends of a packet or
// neither. keep is called as the tap is: it must not block, nor hold on to the event.
func Only(t Tap, keep func(*Event) bool) Tap { return chosen{t, keep} }

type chosen struct {
	tap  Tap
	keep func(*Event) bool
}

// Packet implements [Tap].
func (c chosen) Packet(e *Event) {
	if c.keep(e) {
		c.tap.Packet(e)
	}
}
