package simnet

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
)

// Step is a step on the way of a frame.
type Step uint8

// Steps. A frame is Sent once, by its sender's link, and its way ends with
// Delivered or Dropped; so does the way of each duplicate.
const (
	Sent       Step = iota // taken from the sender's Flush
	Delivered              // waits for the receiver's Recv
	Dropped                // see Reason
	Duplicated             // a copy was made
	Delayed                // a fault holds it up for some time
	Reordered              // a fault holds it until others have passed
	Corrupted              // a fault flipped a bit
	Marked                 // a fault or the port set Congestion Experienced
	steps
)

var stepNames = [steps]string{
	"sent", "delivered", "dropped", "duplicated", "delayed", "reordered", "corrupted", "marked",
}

// String is the step as a word.
func (s Step) String() string { return stepNames[s] }

// Reason is why a frame was dropped.
type Reason uint8

// Reasons.
const (
	NotDropped Reason = iota
	ByFault           // a fault of World.Faults, random loss among them
	NoAddress         // no open link has the destination address
	TooLong           // longer than the MTU of one of the two links
	PortFull          // the switch's port had no room
	InboxFull         // the receiver's device did not look for too long
	reasons
)

var reasonNames = [reasons]string{
	"not dropped", "fault", "no such address", "longer than the MTU", "port full", "inbox full",
}

// String says the reason.
func (r Reason) String() string { return reasonNames[r] }

// FrameEvent tells [World.OnFrame] of a step on the way of a frame.
type FrameEvent struct {
	Time     clock.Time
	Step     Step
	Reason   Reason // if Step is Dropped
	From, To string // names of links; To is empty if none has the destination
	Meta     link.Meta
	Frame    []byte // UDP payload, BTH … ICRC, lent for the call
}

// String is one line of text about the event.
func (e FrameEvent) String() string {
	what := e.Step.String()
	if e.Step == Dropped {
		what = fmt.Sprintf("dropped (%v)", e.Reason)
	}
	packet := "no packet"
	var p bth.Packet
	if p.ParseBTH(e.Frame) == nil {
		packet = fmt.Sprintf("%v QPN 0x%06x PSN %v", p.Opcode, p.DestQP, p.PSN)
	}
	return fmt.Sprintf("%v %s→%s %s %s, %d bytes", e.Time, e.From, e.To, what, packet, len(e.Frame))
}

// OnFrame has f called for every step of every frame from now on. The calls come
// one at a time, in the order of the steps, and from within the world: f must
// neither block nor call the world or its links.
func (w *World) OnFrame(f func(FrameEvent)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks = append(w.hooks, f)
}

// count is a step other than Dropped.
func (w *World) count(f *frame, s Step) {
	w.stats.Steps[s]++
	w.report(f, s, NotDropped)
}

// report tells the hooks.
func (w *World) report(f *frame, s Step, why Reason) {
	if len(w.hooks) == 0 {
		return
	}
	e := FrameEvent{
		Time: w.Now(), Step: s, Reason: why,
		From: f.from.name, Meta: f.meta, Frame: f.bytes(),
	}
	if f.to != nil {
		e.To = f.to.name
	}
	for _, hook := range w.hooks {
		hook(e)
	}
}
