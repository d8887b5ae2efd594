package engine

import "time"

const (
	// guard is how long a shard may be without a leader before the background
	// leads: within twice that, what a waiter or poller left undone is done.
	guard = time.Millisecond
	// frequentPolls within a guard time say that the application polls all the
	// time. Then the background stays away: a link that is armed would wake it for
	// every packet that the application is about to see anyway.
	frequentPolls = 64
)

// background leads when nobody else does.
func (s *Shard) background() {
	tick := time.NewTimer(0) // nobody leads yet
	defer tick.Stop()
	b := backgroundGoal{shard: s}
	for s.failure.Load() == nil {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		select {
		case <-s.lead:
			b.lead()
		default:
			s.sleepWhileLed()
		}
		tick.Reset(guard)
	}
}

// sleepWhileLed returns when leadership was given away.
func (s *Shard) sleepWhileLed() {
	s.dormant.set()
	if len(s.lead) > 0 && s.dormant.clear() {
		return // it was, just now
	}
	select {
	case <-s.revive:
	case <-s.closing:
	}
}

// backgroundGoal is to lead until somebody else is there to do it.
type backgroundGoal struct {
	shard *Shard
	polls uint64 // when it last looked
}

// lead leads until the goal is reached, perhaps at once.
func (b *backgroundGoal) lead() {
	s := b.shard
	s.backgroundLeads.Store(true)
	s.runFor(b, false)
	s.backgroundLeads.Store(false)
	b.polls = s.polls.Load()
	s.lead <- struct{}{}
}

func (b *backgroundGoal) polledFrequently() bool {
	return b.shard.polls.Load()-b.polls >= frequentPolls
}

func (b *backgroundGoal) reached() bool {
	select {
	case <-b.shard.closing:
		return true
	default:
	}
	return b.shard.waiters.Load() > 0 || b.polledFrequently() || b.shard.failure.Load() != nil
}

func (b *backgroundGoal) hurry() *CQ { return nil }

// beforeSleep has nothing to do: waiters and Close kick, and pollers may.
func (b *backgroundGoal) beforeSleep() {}
