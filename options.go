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
	icrc engine.ICRC
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

// AcceptAnyICRC makes the device take packets whatever their invariant CRC is, for peers
// that cannot compute one, such as programs of switches. Nothing but UDP's checksum, where
// there is one, finds damage then. The trace says of every packet that it was not checked.
func AcceptAnyICRC() Option { return func(o *options) { o.icrc.AcceptAny = true } }

// SendZeroICRC makes the device send 0 as the invariant CRC, for peers that take no other.
// All others, adapters among them, drop such packets.
func SendZeroICRC() Option { return func(o *options) { o.icrc.SendZero = true } }
