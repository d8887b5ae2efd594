package simnet

import (
	"slices"
	"time"
)

// holdLimit is how long a reordered frame waits for those that shall overtake it.
const holdLimit = time.Millisecond

// hold keeps the frame back until so many others of its direction have passed, at
// most for holdLimit.
func (w *World) hold(f *frame, overtakers int) {
	w.held = append(w.held, f)
	f.overtakers = overtakers
	f.stage = released
	w.schedule(&f.event, w.Now().Add(holdLimit))
}

// overtaken: a frame has passed in this direction; those that waited for it go on.
func (w *World) overtaken(from, to *Link) {
	for i := 0; i < len(w.held); {
		f := w.held[i]
		if f.from == from && f.to == to {
			f.overtakers--
		}
		if f.overtakers > 0 {
			i++
			continue
		}
		w.held = slices.Delete(w.held, i, i+1)
		w.agenda.cancel(&f.event)
		w.egress(f)
	}
}

// release lets go what a fault held up.
func (w *World) release(f *frame) {
	if i := slices.Index(w.held, f); i >= 0 {
		w.held = slices.Delete(w.held, i, i+1)
	}
	w.pass(f)
}
