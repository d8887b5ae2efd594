package trace

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// Congestion chooses, for [Only], the packets by which congestion is told: those that
// a switch has marked CE, and congestion notifications (CNPs).
func Congestion(e *Event) bool {
	return e.ECN() == wire.CE || e.base().Opcode == bth.CNP
}

// ECN is the congestion field of the packet: as it was sent, or as it arrived.
func (e *Event) ECN() wire.ECN { return wire.ECNOf(e.TrafficClass) }

// base is the packet's base header; of a frame whose first piece does not hold it, the
// zero Packet.
func (e *Event) base() (p bth.Packet) {
	if len(e.Frame) > 0 {
		_ = p.ParseBTH(e.Frame[0]) // leaves p alone if it is too short
	}
	return p
}

// congestionWords say what a mark or a notification asks of whom; "" for other packets.
func (e *Event) congestionWords() string {
	p := e.base()
	switch {
	case p.Opcode == bth.CNP && e.Dir == Out:
		return fmt.Sprintf("; QP 0x%x of %v is to send more slowly", p.DestQP, e.Dst)
	case e.Dir == Out:
		return ""
	case p.Opcode == bth.CNP && e.Verdict.Action != transport.Dropped:
		return fmt.Sprintf("; a switch on the way to %v marks what this queue pair sends", e.Src) + e.markWords(p.Opcode)
	}
	return e.markWords(p.Opcode)
}

// markWords say what a mark on a received packet asks for.
func (e *Event) markWords(o bth.Opcode) string {
	const marked = "; marked CE by a switch on the way"
	switch {
	case e.ECN() != wire.CE:
		return ""
	case e.Verdict.Action == transport.Dropped:
		return marked
	case o.Paced():
		return marked + ": if CNPs are sent, the sender is owed one, unless one left within the interval"
	}
	return marked + ": only counted, there is no data to slow down"
}
