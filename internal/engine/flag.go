package engine

import "sync/atomic"

// atomicFlag is set by one of several at a time.
type atomicFlag struct{ v atomic.Bool }

// isSet reports the flag.
func (f *atomicFlag) isSet() bool { return f.v.Load() }

// set reports whether it was this call that set the flag.
func (f *atomicFlag) set() bool { return !f.v.Load() && f.v.CompareAndSwap(false, true) }

// clear reports whether it was this call that cleared the flag.
func (f *atomicFlag) clear() bool { return f.v.Load() && f.v.CompareAndSwap(true, false) }
