package engine

// fifo is a queue of QPs. A QP is in it by one of its queued parts, which is in at most
// one fifo.
type fifo struct{ head, tail *queued }

// queued is a QP's part of a fifo.
type queued struct {
	qp      *QP
	waiting bool
	after   *queued
}

// push appends e, unless some fifo has it already.
func (f *fifo) push(e *queued) {
	if e.waiting {
		return
	}
	e.waiting = true
	if f.tail == nil {
		f.head = e
	} else {
		f.tail.after = e
	}
	f.tail = e
}

// pop takes the first one out.
func (f *fifo) pop() *QP {
	e := f.head
	f.head = e.after
	if f.head == nil {
		f.tail = nil
	}
	e.waiting, e.after = false, nil
	return e.qp
}

// clear takes all out.
func (f *fifo) clear() {
	for f.head != nil {
		f.pop()
	}
}
