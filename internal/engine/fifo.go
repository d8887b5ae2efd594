package engine

// fifo is a queue of QPs that want to send. A QP is in at most one of them.
type fifo struct{ head, tail *QP }

// queued is a QP's part of a fifo.
type queued struct {
	waiting bool
	after   *QP
}

// push appends q, unless some fifo has it already.
func (f *fifo) push(q *QP) {
	if q.waiting {
		return
	}
	q.waiting = true
	if f.tail == nil {
		f.head = q
	} else {
		f.tail.after = q
	}
	f.tail = q
}

// pop takes the first one out.
func (f *fifo) pop() *QP {
	q := f.head
	f.head = q.after
	if f.head == nil {
		f.tail = nil
	}
	q.queued = queued{}
	return q
}
