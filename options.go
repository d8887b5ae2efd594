package roce

import (
	"github.com/rocinante-rdma/roce/internal/engine"
	"github.com/rocinante-rdma/roce/trace"
)

// Option is an option of [Open].
type Option func(*options)

type options struct {
	mode engine.Mode
	tap  trace.Tap
}

// Busy makes the device poll its link without ever sleeping: the lowest latency,
// for a core of its own.
func Busy() Option { return func(o *options) { o.mode = engine.Busy } }

// Manual makes the device do nothing by itself: the owner calls [Device.Poll]
// whenever something arrived, was posted or is due by [Device.NextDeadline].
// Nothing can be waited for then, only polled. Simulated worlds run devices so.
func Manual() Option { return func(o *options) { o.mode = engine.Manual } }

// WithTap has every packet reported to a tap, with what was done with it and why.
func WithTap(t trace.Tap) Option { return func(o *options) { o.tap = t } }
