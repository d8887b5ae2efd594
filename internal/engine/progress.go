package engine

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
)

// progress is who runs the turns. All of it is safe for concurrent use; spins
// belongs to the leader.
type progress struct {
	lead     chan struct{} // holds the token of leadership while nobody leads
	sleeping atomicFlag    // the leader is in Park, or about to be
	waiters  atomic.Int32  // goroutines in CQ.Wait that found nothing yet
	polls    atomic.Uint64 // turns run inline by CQ.Poll
	spins    int           // idle turns that the leader runs before it parks
	maxSpins int           // 0 on a single processor, where spinning keeps the peer from working

	backgroundLeads atomic.Bool
	dormant         atomicFlag    // the background sleeps until leadership is free
	revive          chan struct{} // ends that

	closing chan struct{} // closed when the shard closes
	workers sync.WaitGroup
}

// Idle turns before parking: the number doubles when spinning was of use and
// halves when it was not.
const (
	minSpins  = 4
	mostSpins = 128
)

func (p *progress) init() {
	p.lead = make(chan struct{}, 1)
	p.lead <- struct{}{}
	p.revive = make(chan struct{}, 1)
	p.closing = make(chan struct{})
	if runtime.GOMAXPROCS(0) > 1 {
		p.maxSpins = mostSpins
	}
	p.spins = min(minSpins, p.maxSpins)
}

// release gives leadership away: to a waiter, else whoever comes next.
func (s *Shard) release() {
	s.lead <- struct{}{}
	if s.dormant.clear() {
		s.revive <- struct{}{}
	}
	s.answerLateBells()
}

// goal is what a leader works for.
type goal interface {
	// reached reports whether the leader may stop leading.
	reached() bool
	// hurry is the CQ whose completions end a turn early, or nil.
	hurry() *CQ
	// beforeSleep is called before the leader parks: whatever else changes what
	// reached reports has to kick the shard from then on.
	beforeSleep()
}

// runFor runs turns until the goal is reached. The caller leads.
func (s *Shard) runFor(g goal, maySpin bool) {
	for idle := 0; !g.reached(); {
		s.mu.Lock()
		worked := !s.closed && s.turn(g.hurry())
		soon := s.soon()
		s.mu.Unlock()
		switch {
		case worked:
			if idle > 0 {
				s.spins = min(2*s.spins, s.maxSpins)
			}
			idle = 0
		case s.mode == Busy || soon:
			runtime.Gosched()
		case maySpin && idle < s.spins:
			idle++
			runtime.Gosched()
		default:
			s.spins = max(s.spins/2, min(minSpins, s.maxSpins))
			idle = 0
			s.park(g)
		}
	}
}

// park sleeps until there is something to do.
//
// No wake-up is lost: who makes the goal reached does so before it looks whether
// the leader sleeps; the leader says that it sleeps before it looks at the goal. Who
// rings a bell tries to take the lock after that; the leader looks for bells after it
// gave the lock away. What the link waits for, Arm looks at itself.
func (s *Shard) park(g goal) {
	g.beforeSleep()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.sleeping.set()
	s.arm(s.wakeUp())
	if s.bells.Load() == nil && !s.owes() && !g.reached() {
		s.mu.Unlock()
		if s.bells.Load() == nil { // who rang since then found the lock taken
			s.queue.Park()
		}
		s.mu.Lock()
	}
	s.sleeping.clear()
	s.armed = clock.Never
	s.queue.Disarm()
	s.mu.Unlock()
}

// arm tells the link when the leader has to wake up.
func (s *Shard) arm(until clock.Time) {
	s.armed, s.armedTx = until, s.blocked()
	s.queue.Arm(s.armed, link.Interest{Rx: true, Tx: s.armedTx})
}

// blocked reports whether packets wait for the network to take more.
func (s *Shard) blocked() bool { return s.pending > 0 || s.starved }

// owes reports whether there are packets to be sent that nothing keeps back.
func (s *Shard) owes() bool { return s.ready.head != nil && !s.starved }

// kick makes the leader look for work, if it sleeps.
func (s *Shard) kick() {
	if s.sleeping.clear() {
		s.queue.Wake()
	}
}

// unlock ends a use of the lock by anybody but the leader: what changed may have
// to wake that one earlier, and bells that rang meanwhile are answered.
func (s *Shard) unlock() {
	s.rearm()
	s.mu.Unlock()
	s.answerLateBells()
}

// rearm moves the deadline of a sleeping leader forward.
func (s *Shard) rearm() {
	if s.sleeping.isSet() && (s.alarm() < s.armed || s.blocked() && !s.armedTx) {
		s.arm(s.alarm())
	}
}

// answerLateBells serves those who rang and found the lock taken: the holder may
// have been past the doorbells.
func (s *Shard) answerLateBells() {
	for s.mode != Manual && s.bells.Load() != nil && s.mu.TryLock() {
		s.sendTurn()
		s.rearm()
		s.mu.Unlock()
	}
}

// posted tells that a bell rang. inline asks the caller to transmit by itself.
func (s *Shard) posted(inline bool) {
	if s.mode == Manual || !inline {
		return
	}
	s.answerLateBells()
}

// inlineTurn runs a turn for CQ.Poll, unless somebody else is at it.
func (s *Shard) inlineTurn(c *CQ) {
	if s.mode == Manual || !s.mu.TryLock() {
		return
	}
	if s.closed {
		s.mu.Unlock()
		return
	}
	if s.sleeping.isSet() {
		s.turn(nil) // else what is owed would have to wake the sleeper
	} else {
		s.turn(c)
	}
	s.polls.Add(1)
	s.unlock()
}

// Poll runs a turn and reports whether there was anything to do. It is how a shard
// in Manual mode is run; in other modes it helps.
func (s *Shard) Poll() (worked bool) {
	s.mu.Lock()
	defer s.unlock()
	return !s.closed && s.turn(nil)
}

// NextDeadline is when Poll has to be called even if nothing arrives: not later
// than now if there is something to do, clock.Never if only a packet or a post can
// bring work.
func (s *Shard) NextDeadline() clock.Time {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return clock.Never
	}
	return s.nextDeadline()
}
