package engine

import (
	"time"

	"github.com/rocinante-rdma/roce/clock"
)

const neverAcked clock.Time = -1 << 62

// linger is how long after its last acknowledgement a shard stays to repeat it, if
// it was lost: twice the acknowledgement timeout that peers usually have (code 14,
// 67 ms), and some.
const linger = 150 * time.Millisecond

// Close lingers, takes every queue pair to ERR, ends all waiting and closes the
// link. It must not be called twice.
//
// A shard that closed at once after its last acknowledgement would leave the peer
// without an answer if that one got lost: the peer retries, and reports as failed
// what had succeeded. So if there was an acknowledgement within the last 150 ms,
// the shard goes on until they are over. In Manual mode it does not.
func (s *Shard) Close() error {
	if s.mode != Manual {
		s.lingerOn()
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

// lingerOn waits until the last acknowledgement is old enough.
func (s *Shard) lingerOn() {
	for left := s.lingerLeft(); left > 0; left = s.lingerLeft() {
		time.Sleep(left)
	}
}

func (s *Shard) lingerLeft() time.Duration {
	s.mu.Lock()
	defer s.unlock()
	if !s.connected() || s.failure.Load() != nil {
		return 0
	}
	return s.lastAck.Add(linger).Sub(s.queue.Now())
}

// connected reports whether a QP could still be asked by its peer.
func (s *Shard) connected() (yes bool) {
	s.demux.all(func(q *QP) { yes = yes || q.machine.State().Receives() })
	return yes
}
