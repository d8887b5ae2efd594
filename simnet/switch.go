package simnet

import (
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/wire"
)

// The switch: what happens to a frame between the sender's Flush and the
// receiver's inbox. All of it runs under World.mu.

// port is the switch's port towards one link.
type port struct {
	transmitter
	marker *marker // nil: it marks nothing
}

// backlog is the number of bytes that wait at the port of l.
func (p *port) backlog(now clock.Time, l *Link) int {
	return int(float64(max(p.busy-now, 0)) * l.rate)
}

// inject sends a frame that was in no ring.
func (w *World) inject(f *frame) {
	f.to = w.byAddr[f.meta.Dst]
	w.count(f, Sent)
	w.propagate(f, w.Now())
}

// send puts a complete frame into its sender's ring.
func (w *World) send(f *frame) {
	if f.from.rate == 0 {
		w.inject(f)
		return
	}
	f.to = w.byAddr[f.meta.Dst]
	w.count(f, Sent)
	q := &f.from.queue
	q.inRing++
	f.stage = leaving
	w.schedule(&f.event, q.out.take(w.Now(), f.from.serialisation(f)))
}

// left: the frame has left its sender's ring.
func (w *World) left(f *frame) {
	q := &f.from.queue
	q.inRing--
	q.drained()
	w.propagate(f, f.at)
}

// propagate lets the frame, sent at an instant, reach the switch.
func (w *World) propagate(f *frame, sent clock.Time) {
	f.stage = atSwitch
	w.schedule(&f.event, sent.Add(f.from.latency))
}

// cross: the frame is at the switch. Faults see it first.
func (w *World) cross(f *frame) {
	if f.to == nil {
		w.drop(f, NoAddress)
		return
	}
	fate := w.judge(f)
	if fate.Drop {
		w.drop(f, ByFault)
		return
	}
	for range fate.Copies {
		w.count(f, Duplicated)
		w.pass(w.duplicate(f))
	}
	switch {
	case fate.Overtakers > 0:
		w.count(f, Reordered)
		w.hold(f, fate.Overtakers)
	case fate.Delay > 0:
		w.count(f, Delayed)
		f.stage = released
		w.schedule(&f.event, w.Now().Add(fate.Delay))
	default:
		w.pass(f)
	}
}

// judge asks the faults about a frame, and does what changes it in place.
func (w *World) judge(f *frame) fault.Fate {
	fate := w.Faults.Judge(fault.Frame{From: f.from.name, To: f.to.name, Payload: f.bytes(), ECN: wire.ECN(f.meta.ECN)})
	for range fate.Flipped {
		w.count(f, Corrupted)
	}
	if fate.Mark {
		f.meta.ECN = uint8(wire.CE)
		w.count(f, Marked)
	}
	return fate
}

// pass lets the frame through, and after it those that it had to overtake.
func (w *World) pass(f *frame) {
	from, to := f.from, f.to
	w.egress(f)
	w.overtaken(from, to)
}

// egress is the port towards the receiver.
func (w *World) egress(f *frame) {
	now, to := w.Now(), f.to
	switch {
	case to.closed:
		w.drop(f, NoAddress)
	case f.ipLen() > min(f.from.mtu, to.mtu):
		w.drop(f, TooLong)
	case to.port.backlog(now, to)+f.ipLen() > to.buffer:
		w.drop(f, PortFull)
	case to.port.marker != nil:
		w.enqueue(f, now)
	default:
		f.stage = arriving
		w.schedule(&f.event, to.port.take(now, to.serialisation(f)).Add(to.latency))
	}
}

// arrive: the frame is at its receiver.
func (w *World) arrive(f *frame) {
	switch q := &f.to.queue; {
	case f.to.closed:
		w.drop(f, NoAddress)
	case q.inbox.len() >= inboxLimit:
		w.drop(f, InboxFull)
	default:
		w.count(f, Delivered)
		q.inbox.push(f)
		q.received()
	}
}

// drop ends a frame's way.
func (w *World) drop(f *frame, why Reason) {
	w.stats.Steps[Dropped]++
	w.stats.Drops[why]++
	w.report(f, Dropped, why)
	w.free(f)
}
