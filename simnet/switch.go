package simnet

import "github.com/rocinante-rdma/roce/clock"

// The switch: what happens to a frame between the sender's Flush and the
// receiver's inbox. All of it runs under World.mu.

// port is the switch's port towards one link.
type port struct{ transmitter }

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
	fate := w.Faults.judge(f)
	if fate.drop {
		w.drop(f, ByFault)
		return
	}
	for range fate.copies {
		w.count(f, Duplicated)
		w.pass(w.duplicate(f))
	}
	switch {
	case fate.overtakers > 0:
		w.count(f, Reordered)
		w.hold(f, fate.overtakers)
	case fate.delay > 0:
		w.count(f, Delayed)
		f.stage = released
		w.schedule(&f.event, w.Now().Add(fate.delay))
	default:
		w.pass(f)
	}
}

// pass lets the frame through, and after it those that it had to overtake.
func (w *World) pass(f *frame) {
	from, to := f.from, f.to
	w.egress(f)
	w.Faults.overtaken(from, to)
}

// hold keeps the frame back until so many others of its direction have passed, at
// most for holdLimit.
func (w *World) hold(f *frame, overtakers int) {
	w.Faults.held = append(w.Faults.held, f)
	f.overtakers = overtakers
	f.stage = released
	w.schedule(&f.event, w.Now().Add(holdLimit))
}

// release lets go what a fault held up.
func (w *World) release(f *frame) {
	w.Faults.forget(f)
	w.pass(f)
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
