package engine

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

const neverAnswered clock.Time = -1 << 62

// linger is how long after its last answer a shard stays to repeat it, if it was
// lost: twice the acknowledgement timeout that peers usually have (code 14, 67 ms),
// and some.
const linger = 150 * time.Millisecond

// Close lingers, takes every queue pair to ERR, ends all waiting and closes the
// link. It must not be called twice.
//
// A shard that closed at once after its last answer would leave the peer without
// one if that got lost: the peer retries, and reports as failed what had succeeded.
// So Close waits until 150 ms have passed since what was the last answer when it
// was called, and the shard goes on meanwhile. In Manual mode it does not.
func (s *Shard) Close() error {
	if s.mode != Manual {
		time.Sleep(s.lingerLeft())
	}
	close(s.closing)
	s.kick()
	s.workers.Wait()
	s.mu.Lock()
	s.now = s.queue.Now()
	s.demux.all(s.fail)
	s.settle()
	s.closed = true
	s.mu.Unlock()
	return s.link.Close()
}

// Fail tells the shard that its link is gone for good, and why. All work is flushed,
// and Wait returns err when no completions are left.
func (s *Shard) Fail(err error) {
	s.mu.Lock()
	s.now = s.queue.Now()
	s.fatal(err)
	s.settle()
	s.mu.Unlock()
	s.kick()
}

// lingerLeft sends what is owed and returns for how long peers may still ask for
// the last answer.
func (s *Shard) lingerLeft() time.Duration {
	s.mu.Lock()
	defer s.unlock()
	s.sendTurn()
	if !s.connected() || s.failure.Load() != nil {
		return 0
	}
	return s.lastAnswer.Add(linger).Sub(s.queue.Now())
}

// connected reports whether a QP could still be asked by its peer.
func (s *Shard) connected() (yes bool) {
	s.demux.all(func(q *QP) { yes = yes || q.machine.State().Receives() })
	return yes
}
