package engine

import "sync/atomic"

// fifo is a queue of QPs that want to send. A QP is in at most one of them.
type fifo struct{ head, tail *QP }

// queued is a QP's part of a fifo.
type queued struct {
	in    *fifo
	after *QP
}

// push appends q, unless some fifo has it already.
func (f *fifo) push(q *QP) {
	if q.queued.in != nil {
		return
	}
	q.queued.in = f
	if f.tail == nil {
		f.head = q
	} else {
		f.tail.queued.after = q
	}
	f.tail = q
}

// pop takes the first one out.
func (f *fifo) pop() *QP {
	q := f.head
	f.head = q.queued.after
	if f.head == nil {
		f.tail = nil
	}
	q.queued = queued{}
	return q
}

// atomicFlag is set by one of several at a time.
type atomicFlag struct{ v atomic.Bool }

// isSet reports the flag.
func (f *atomicFlag) isSet() bool { return f.v.Load() }

// set reports whether it was this call that set the flag.
func (f *atomicFlag) set() bool { return !f.v.Load() && f.v.CompareAndSwap(false, true) }

// clear reports whether it was this call that cleared the flag.
func (f *atomicFlag) clear() bool { return f.v.Load() && f.v.CompareAndSwap(true, false) }
