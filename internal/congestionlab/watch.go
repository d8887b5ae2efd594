package congestionlab

import (
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// tally counts what happened to a flow's packets at the bottleneck.
type tally struct {
	delivered int // bytes on the wire that reached the receiver
	drops     int
	marks     int
	cnps      int // that reached the sender
}

func (t tally) since(before tally) tally {
	return tally{t.delivered - before.delivered, t.drops - before.drops, t.marks - before.marks, t.cnps - before.cnps}
}

// onWire is what a packet, BTH to ICRC, takes of a link, in bytes.
func onWire(packet []byte) int {
	return wire.EthernetOverhead + wire.IPv4Len + wire.UDPLen + len(packet)
}

// observe counts a step of a frame. What goes to the receiver is of the flow from which it
// comes.
func (l *lab) observe(e simnet.FrameEvent) {
	if f := l.byName[e.To]; f != nil {
		if e.Step == simnet.Delivered && bth.Opcode(e.Frame[0]) == bth.CNP {
			f.cnps++
		}
		return
	}
	switch f := l.byName[e.From]; e.Step {
	case simnet.Delivered:
		f.delivered += onWire(e.Frame)
	case simnet.Dropped:
		f.drops++
	case simnet.Marked:
		f.marks++
	default: // it is still on its way
	}
}

// ticks is how often the queue is looked at within a sample.
const ticks = 50

// watch takes the samples.
type watch struct {
	*lab
	queue  []int   // bytes, tick by tick
	before []tally // of the flows, at the last sample
}

// tick looks at the queue.
func (w *watch) tick() { w.queue = append(w.queue, w.port.Backlog()) }

// sample sums up what was since the last one.
func (w *watch) sample() Sample {
	s := Sample{Time: time.Duration(w.world.Now()), Flows: make([]FlowSample, len(w.flows))}
	for i, f := range w.flows {
		now := f.tally.since(w.before[i])
		w.before[i] = f.tally
		s.Drops, s.Marks, s.CNPs = s.Drops+now.drops, s.Marks+now.marks, s.CNPs+now.cnps
		s.Flows[i].Delivered = float64(8*now.delivered) / w.Sample.Seconds()
		s.Flows[i].Rate, s.Flows[i].Target, s.Flows[i].Alpha = f.limit(w.Rate)
	}
	recent := w.queue[len(w.queue)-ticks:]
	for _, bytes := range recent {
		s.Queue += float64(bytes) / ticks
		s.QueueMost = max(s.QueueMost, bytes)
	}
	return s
}
