package engine

// bell is a QP's part of the list of QPs whose doorbell rang.
type bell struct {
	rung atomicFlag
	next *QP // in the list, while rung
}

// ring puts q on the list of rung doorbells, a lock-free stack that is only ever
// taken as a whole.
func (s *Shard) ring(q *QP) {
	if !q.bell.rung.set() {
		return // it is on the list already
	}
	for {
		head := s.bells.Load()
		q.bell.next = head
		if s.bells.CompareAndSwap(head, q) {
			return
		}
	}
}

// answerBells lets the machines see what was posted.
func (s *Shard) answerBells() (worked bool) {
	if s.bells.Load() == nil {
		return false
	}
	for q := s.bells.Swap(nil); q != nil; {
		next := q.bell.next
		q.bell.next = nil
		q.bell.rung.clear() // before the queues are looked at: later posts ring again
		if !q.destroyed {
			q.machine.Posted()
			s.touch(q)
		}
		q = next
	}
	return true
}
