package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// deferredTurns is how many turns in a row may leave transmitting to the next: a
// receiver of a steady stream has to acknowledge it too.
const deferredTurns = 4

// turn runs one turn and reports whether there was anything to do. When it has
// completions for the CQ hurry it ends before transmitting: the application
// probably answers at once, and one burst carries both. The caller holds the lock.
func (s *Shard) turn(hurry *CQ) (worked bool) {
	if worked = s.receive(); !worked {
		s.now = s.queue.Now()
	}
	worked = s.answerBells() || worked
	worked = s.expire() || worked
	s.settle()
	if hurry != nil && hurry.ring.Len() > 0 && s.deferred < deferredTurns {
		s.deferred++
		return true
	}
	worked = s.transmit() || worked
	s.settle()
	return worked
}

// sendTurn is the part of a turn that whoever posted work runs inline.
func (s *Shard) sendTurn() {
	s.now = s.queue.Now()
	s.answerBells()
	s.settle()
	s.transmit()
	s.settle()
}

// expire runs the machines whose deadline has come.
func (s *Shard) expire() (worked bool) {
	for s.deadlines.next() <= s.now {
		q := s.deadlines.first()
		q.machine.Advance(s.now)
		s.deadlines.set(q, q.machine.Deadline())
		s.touch(q)
		worked = true
	}
	return worked
}

// note notes that a QP's machine was driven: its deadline and state may have
// changed.
func (s *Shard) note(q *QP) {
	if !q.touched {
		q.touched = true
		s.touched = append(s.touched, q)
	}
}

// touch is note for what may also have given the QP something to send.
func (s *Shard) touch(q *QP) {
	s.note(q)
	s.ready.push(&q.sending)
}

// settle draws the consequences of what the machines did, and publishes their
// completions. Failing QPs of an overflown CQ touches more of them, hence the loop.
func (s *Shard) settle() {
	for len(s.touched) > 0 || len(s.overflown) > 0 {
		for _, q := range s.touched {
			q.touched = false
			if !q.destroyed {
				s.settleQP(q)
			}
		}
		s.touched = s.touched[:0]
		s.failOverflown()
	}
	s.publish()
}

func (s *Shard) settleQP(q *QP) {
	if state := q.machine.State(); state != q.State() {
		q.state.Store(uint32(state))
		if state == qp.StateErr {
			s.counters.QPErrors++
			// Receives that were posted after the machine flushed and before the
			// state was stored, when posters do not ring yet.
			q.machine.Posted()
		}
	}
	s.deadlines.set(q, q.machine.Deadline())
	q.busy.Store(q.sq.Len() >= inlineLimit)
}

// failOverflown takes the QPs of overflown CQs to ERR (IBTA vol. 1, 11.6.3.1), in the
// order of their numbers, so that simulated runs repeat. What that flushes may
// overflow more of them, so the list grows meanwhile.
func (s *Shard) failOverflown() {
	for i := 0; i < len(s.overflown); i++ {
		s.happen(s.overflown[i].happened, transport.EventCQError)
		users := slices.SortedFunc(maps.Keys(s.overflown[i].users), func(a, b *QP) int { return cmp.Compare(a.qpn, b.qpn) })
		for _, q := range users {
			q.machine.Abandon(transport.RuleCQOverflow)
			s.touch(q)
		}
	}
	s.overflown = s.overflown[:0]
}

// fail takes a QP to ERR, which flushes its work.
func (s *Shard) fail(q *QP) {
	if q.machine.State() == qp.StateErr || q.machine.State() == qp.StateReset {
		return
	}
	// Every state but RESET may go to ERR: this cannot fail.
	_ = q.machine.Modify(s.now, &qp.Attr{State: qp.StateErr}, qp.MaskState)
	s.touch(q)
}

// publish shows new completions to the application, and tells it of events.
func (s *Shard) publish() {
	for _, c := range s.news {
		c.fresh = false
		if c.ring.Publish() {
			c.signal()
		}
	}
	s.news = s.news[:0]
	s.tellFailure()
	s.tellEvents()
}

// tellFailure lets everybody know of the link's failure, after what it flushed is
// visible: whoever waits finds that first.
func (s *Shard) tellFailure() {
	if s.broken == nil || s.failure.Load() != nil {
		return
	}
	err := s.broken
	s.failure.Store(&err)
	if s.failed != nil {
		s.happen(func(transport.Event) { s.failed(err) }, transport.EventDeviceFatal)
	}
}

// nextDeadline is when a turn has to be run even if nothing arrives.
func (s *Shard) nextDeadline() clock.Time {
	if s.owes() || s.bells.Load() != nil {
		return s.now
	}
	return min(s.deadlines.next(), s.wheel.Next())
}
