package simnet

import (
	"errors"
	"fmt"

	"github.com/rocinante-rdma/roce/clock"
)

// Device is what a world runs in virtual time, such as a roce.Device in manual
// mode.
type Device interface {
	// Poll does what there is to do now, and reports whether that was anything.
	Poll() (worked bool)
	// NextDeadline is when Poll has to be called even if no frame arrives,
	// clock.Never if not before.
	NextDeadline() clock.Time
}

// pollLimit is how often devices may report work at one instant of virtual time.
const pollLimit = 1 << 20

// Attach has the world run a device. Devices are polled in the order in which they
// were attached.
func (w *World) Attach(d Device) { w.devices = append(w.devices, d) }

// Run runs the world until an instant, or, if that is clock.Never, until nothing
// is left to happen. It fails if the devices find work at one instant for ever, or
// if the world's time is real.
func (w *World) Run(until clock.Time) error {
	t, err := w.virtual()
	if err != nil {
		return err
	}
	if err := w.settle(); err != nil {
		return err
	}
	for next := w.next(); next != clock.Never && next <= until; next = w.next() {
		if err := w.moveTo(t, next); err != nil {
			return err
		}
	}
	if until != clock.Never {
		t.advance(until)
	}
	return nil
}

// RunUntil runs the world until cond is true, which it asks after everything that
// happens. It fails if that has not come by limit, or as Run does. cond may use the
// devices.
func (w *World) RunUntil(cond func() bool, limit clock.Time) error {
	t, err := w.virtual()
	if err != nil {
		return err
	}
	for {
		if err := w.settle(); err != nil {
			return err
		}
		if cond() {
			return nil
		}
		if err := w.settle(); err != nil { // cond may have made work
			return err
		}
		next := w.next()
		if next == clock.Never || next > limit {
			return fmt.Errorf("simnet: gave up at %v: the condition is not met, nothing is due until %v; frames: %v",
				w.Now(), limit, w.Stats())
		}
		if err := w.moveTo(t, next); err != nil {
			return err
		}
	}
}

// Step lets the next thing happen, with everything else of the same instant. more
// is false if nothing is left to happen. It fails as Run does.
func (w *World) Step() (more bool, err error) {
	t, err := w.virtual()
	if err != nil {
		return false, err
	}
	if err := w.settle(); err != nil {
		return false, err
	}
	next := w.next()
	if next == clock.Never {
		return false, nil
	}
	return true, w.moveTo(t, next)
}

func (w *World) virtual() (*virtualTime, error) {
	if t, ok := w.time.(*virtualTime); ok {
		return t, nil
	}
	return nil, errors.New("simnet: cannot run a world in real time, its time passes by itself; make it without RealTime")
}

// next is when the next thing happens.
func (w *World) next() clock.Time {
	w.mu.Lock()
	next := w.agenda.next()
	w.mu.Unlock()
	for _, d := range w.devices {
		next = clock.Earliest(next, d.NextDeadline())
	}
	return max(next, w.Now())
}

// moveTo lets time pass until an instant, and happen what is due then.
func (w *World) moveTo(t *virtualTime, at clock.Time) error {
	if at > t.now() {
		t.advance(at)
		w.rounds = 0
	}
	return w.settle()
}

// settle lets everything happen that can happen at the present instant.
func (w *World) settle() error {
	for {
		w.catchUp()
		busy := w.poll()
		if w.rounds++; w.rounds > pollLimit {
			return fmt.Errorf("simnet: time stands still at %v: after %d rounds of polling %s",
				w.Now(), pollLimit, w.suspect(busy))
		}
		if busy < 0 {
			return nil
		}
	}
}

// poll polls every device and returns the number of one that worked, -1 if none
// did.
func (w *World) poll() (busy int) {
	busy = -1
	for i, d := range w.devices {
		if d.Poll() {
			busy = i
		}
	}
	return busy
}

// suspect says who keeps time from passing.
func (w *World) suspect(busy int) string {
	if busy >= 0 {
		return fmt.Sprintf("device %d (%T) still reports work", busy, w.devices[busy])
	}
	for i, d := range w.devices {
		if d.NextDeadline() <= w.Now() {
			return fmt.Sprintf("device %d (%T) has no work but keeps its deadline at %v", i, d, d.NextDeadline())
		}
	}
	return "frames without latency still arrive"
}
