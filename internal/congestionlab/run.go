package congestionlab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
)

// Options of [Run].
type Options struct {
	Progress func(*Sample)   // unless nil, called for each sample as it is taken
	Recorder *trace.Recorder // unless nil, gets the marked packets and the CNPs
}

// Run plays a scenario. The same scenario gives the same result. It ends early, with an
// error that says why, if ctx does, if a message fails, and if the stack sends more than
// any scenario should need.
func Run(ctx context.Context, s Scenario, o Options) (r *Result, err error) {
	l, err := newLab(&s, o.Recorder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	l.world.OnFrame(l.observe)
	l.world.Attach(l)
	w := &watch{lab: l, before: make([]tally, len(l.flows))}
	r = &Result{Scenario: s}
	for range s.Duration / s.Sample {
		if err := w.pass(ctx); err != nil {
			return nil, fmt.Errorf("the run ended at %v of %v: %w", l.world.Now(), s.Duration, err)
		}
		r.Samples = append(r.Samples, w.sample())
		if o.Progress != nil {
			o.Progress(&r.Samples[len(r.Samples)-1])
		}
	}
	r.Queue = w.queue
	r.sumUp(l)
	return r, nil
}

// pass lets the time of a sample pass.
func (w *watch) pass(ctx context.Context) error {
	for range ticks {
		if err := w.passTo(ctx, w.world.Now().Add(w.Sample/ticks)); err != nil {
			return err
		}
		w.tick()
	}
	return nil
}

// piece is how many bytes the bottleneck may let through until it is asked again whether
// to go on.
const piece = 100_000

// passTo lets time pass until an instant. However much happens by then, whoever cancels
// the run does not wait for it.
func (w *watch) passTo(ctx context.Context, end clock.Time) error {
	step := time.Duration(piece * 8e9 / w.Rate)
	for w.world.Now() < end {
		if err := w.world.Run(min(w.world.Now().Add(step), end)); err != nil {
			return err
		}
		if err := errors.Join(w.err, context.Cause(ctx), w.runaway()); err != nil {
			return err
		}
	}
	return nil
}

// runaway is an error once more was sent than makes sense.
func (l *lab) runaway() error {
	if sent := l.world.Stats().Steps[simnet.Sent]; sent > l.mostFrames {
		return fmt.Errorf("%d frames were sent, which is more than any scenario may", sent)
	}
	return nil
}

// Poll implements [simnet.Device] for all flows: it keeps those going that have begun.
func (l *lab) Poll() (worked bool) {
	for _, f := range l.flows {
		if l.err != nil || l.world.Now() < clock.Time(f.start) {
			continue
		}
		busy, err := f.keepGoing()
		worked, l.err = worked || busy, err
	}
	return worked
}

// NextDeadline implements [simnet.Device]: when the next flow begins.
func (l *lab) NextDeadline() clock.Time {
	next := clock.Never
	for _, f := range l.flows {
		if start := clock.Time(f.start); start > l.world.Now() {
			next = clock.Earliest(next, start)
		}
	}
	return next
}

var _ simnet.Device = (*lab)(nil)
