package engine

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
)

// Pacing: a QP whose next packet has to wait for its time waits in the shard's wheel, where
// it is in nobody's way. At line rate nothing has to wait, and the wheel stays empty.

// earlyRise is how long before the next paced packet is due a leader that sleeps wakes up,
// to spin for the rest: who sleeps wakes up late, by some 60 µs, and a pacer makes up for
// 50 µs.
const earlyRise = 150 * time.Microsecond

// early reports whether the next packet of a QP with this congestion control may not leave
// yet. Then the QP is ready again when it may; whatever else makes it ready before does not
// let that packet go.
func (s *Shard) early(d *dcqcn) bool {
	at := d.controller.NextSend(s.now)
	if at <= s.now {
		return false
	}
	s.wheel.Set(&d.pace, at)
	return true
}

// rate is what congestion control allows the QP at present. A controller comes to the present
// when it is asked.
func (q *QP) rate() congestion.Rate {
	if q.dcqcn != nil {
		q.dcqcn.controller.NextSend(q.shard.queue.Now())
	}
	return q.machine.Rate()
}

// releaseDue makes the QPs ready whose time has come.
func (s *Shard) releaseDue() {
	for q, ok := s.wheel.Pop(s.now); ok; q, ok = s.wheel.Pop(s.now) {
		s.ready.push(&q.sending)
	}
}

// soon reports whether the next paced packet is due before a sleeper would be awake, so
// that the leader has to spin. That is of no use where time stands still meanwhile, as in
// a simulated network that sleeps to let it pass.
func (s *Shard) soon() bool {
	passes := s.now != s.spunAt
	s.spunAt = s.now
	return passes && s.wheel.Next() <= s.now.Add(earlyRise)
}

// alarm is when a leader that sleeps has to wake up: for the next deadline, or to spin until
// a paced packet is due.
func (s *Shard) alarm() clock.Time {
	return min(s.nextDeadline(), s.wheel.Next().Add(-earlyRise))
}

// wakeUp is the alarm of a leader that goes to sleep: if it should spin by then, yet does
// not, then time passes only while it sleeps.
func (s *Shard) wakeUp() clock.Time {
	if at := s.alarm(); at > s.now {
		return at
	}
	return s.nextDeadline()
}
