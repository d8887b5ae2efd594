package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
)

// The moments in which a wake-up could be lost, each by itself: f must come back
// although nobody will wake it any more. Leadership is taken, as by another
// goroutine.
func mustComeBack(t *testing.T, f func(r *running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		_, r := bubblePair(t)
		r.a.shard.takeLead()
		for r.a.shard.Poll() { // nothing else shall keep it awake
		}
		back := make(chan struct{})
		go func() {
			defer close(back)
			f(r)
		}()
		time.Sleep(time.Second)
		select {
		case <-back:
		default:
			t.Error("it sleeps for ever")
			r.a.shard.queue.Wake()
			r.a.cq.Close()
			<-back
		}
		r.a.shard.release()
	})
}

// takeLead takes leadership from the background, as a waiter does.
func (s *Shard) takeLead() {
	s.waiters.Add(1)
	s.kick()
	<-s.lead
	s.waiters.Add(-1)
}

// sleepyGoal is never reached, but something happens before the leader sleeps.
type sleepyGoal struct{ before func() }

func (g sleepyGoal) reached() bool { return false }
func (g sleepyGoal) hurry() *CQ    { return nil }
func (g sleepyGoal) beforeSleep()  { g.before() }

// A bell that rang after the leader's last turn, by somebody who saw it awake.
func TestNoSleepOverABell(t *testing.T) {
	mustComeBack(t, func(r *running) {
		s := r.a.shard
		s.park(sleepyGoal{func() { s.ring(r.qa) }})
	})
}

// Packets that are owed, by a turn that somebody else ended early.
func TestNoSleepOverPacketsOwed(t *testing.T) {
	mustComeBack(t, func(r *running) {
		s := r.a.shard
		s.park(sleepyGoal{func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.touch(r.qa)
		}})
	})
}

// A completion that came after a waiter looked, and before it counted as one.
func TestNoSleepOverACompletion(t *testing.T) {
	mustComeBack(t, func(r *running) {
		r.a.cq.ring.Push(&cq.WC{}, false)
		r.a.cq.ring.Publish()
		r.a.shard.waitTurn(&waiter{cq: r.a.cq, ctx: t.Context()})
	})
}

// A leader that sleeps is woken by a deadline that became earlier.
func TestEarlierDeadlineWakes(t *testing.T) {
	mustComeBack(t, func(r *running) {
		s := r.a.shard
		go func() {
			time.Sleep(time.Millisecond)
			s.mu.Lock()
			s.deadlines.set(r.qa, s.queue.Now().Add(time.Millisecond))
			s.unlock()
		}()
		s.park(sleepyGoal{func() {}})
	})
}

// Polling all the time keeps the background away; a poll now and then does not.
func TestBackgroundStaysAwayFromPollers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := bubblePair(t)
		s, out := r.a.shard, make([]cq.WC, 1)
		for i := range 20 * frequentPolls {
			r.a.cq.Poll(out)
			time.Sleep(guard / (2 * frequentPolls))
			if i == 4*frequentPolls {
				s.kick() // as a packet does that arrives meanwhile
			}
		}
		require.False(t, s.backgroundLeads.Load(), "polled %d times", s.polls.Load())
		time.Sleep(3 * guard)
		require.True(t, s.backgroundLeads.Load(), "nobody polls")
	})
}
