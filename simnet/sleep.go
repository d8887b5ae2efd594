package simnet

import (
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
)

// sleep is the sleeping half of a queue: Arm, Park, Disarm and Wake. The deadline
// is an event of the world, so it passes as the world's time does. Its state is
// guarded by World.mu.
type sleep struct {
	queue    *queue
	alarm    event
	armed    bool
	interest link.Interest
	fired    bool // what was armed for has come
	woken    bool // Wake was called; ends one Park
	closed   bool
	bell     chan struct{} // rings when one of the three was set
}

func (s *sleep) init(q *queue) {
	s.queue = q
	s.alarm.what = s
	s.bell = make(chan struct{}, 1)
}

// occur is the deadline.
func (s *sleep) occur(*World) { s.fire() }

// Arm prepares to sleep: see [link.Queue].
func (s *sleep) Arm(until clock.Time, i link.Interest) {
	w := s.queue.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.happenDue()
	if !s.armed { // else somebody may be in Park, with s.fired as the reason to leave it
		s.fired = false
	}
	s.armed, s.interest = true, i
	switch {
	case i.Rx && s.queue.inbox.len() > 0, i.Tx && s.queue.inRing < s.queue.link.limit:
		s.fire()
	case until == clock.Never:
		w.agenda.cancel(&s.alarm)
	default:
		w.schedule(&s.alarm, until)
	}
}

// Park sleeps until what was armed for has come, Wake or Close.
func (s *sleep) Park() {
	for !s.over() {
		<-s.bell
	}
}

// over reports whether Park returns, and uses up a Wake.
func (s *sleep) over() bool {
	w := s.queue.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	over := s.fired || s.woken || s.closed
	if over {
		s.woken = false
	}
	return over
}

// Disarm ends the armed state.
func (s *sleep) Disarm() {
	w := s.queue.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	s.armed, s.fired = false, false
	w.agenda.cancel(&s.alarm)
}

// Wake ends the current or the next Park.
func (s *sleep) Wake() {
	w := s.queue.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	s.woken = true
	s.ring()
}

// received says that there is a frame in the inbox.
func (s *sleep) received() {
	if s.armed && s.interest.Rx {
		s.fire()
	}
}

// drained says that there is place in the ring.
func (s *sleep) drained() {
	if s.armed && s.interest.Tx {
		s.fire()
	}
}

func (s *sleep) fire() {
	s.fired = true
	s.ring()
}

func (s *sleep) close() {
	s.closed = true
	s.queue.link.world.agenda.cancel(&s.alarm)
	s.ring()
}

func (s *sleep) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}
