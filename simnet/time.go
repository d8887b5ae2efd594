package simnet

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

// timekeeper is the world's clock, and what makes the world notice its passing.
type timekeeper interface {
	now() clock.Time
	// expect says when the next event is due, clock.Never if there is none.
	expect(at clock.Time)
}

// virtualTime passes when World.Step says so.
type virtualTime struct{ t atomic.Int64 }

func (v *virtualTime) now() clock.Time      { return clock.Time(v.t.Load()) }
func (v *virtualTime) expect(clock.Time)    {} // Step looks at the agenda itself
func (v *virtualTime) advance(t clock.Time) { v.t.Store(int64(max(t, v.now()))) }

// realTime passes by itself; a timer makes the world notice.
type realTime struct {
	start time.Time // an own epoch, because a synctest bubble has an own time
	timer *time.Timer
	due   clock.Time // what the timer is set to; under World.mu
}

// newRealTime returns a clock that calls notice when what is expected is due.
func newRealTime(notice func()) *realTime {
	r := &realTime{start: time.Now(), due: clock.Never}
	r.timer = time.AfterFunc(math.MaxInt64, notice)
	r.timer.Stop()
	return r
}

func (r *realTime) now() clock.Time { return clock.Time(time.Since(r.start)) }

func (r *realTime) expect(at clock.Time) {
	// A timer that has fired must be set again even for the same instant.
	if at == r.due && at > r.now() {
		return
	}
	r.due = at
	if at == clock.Never {
		r.timer.Stop()
		return
	}
	r.timer.Reset(at.Sub(r.now()))
}
