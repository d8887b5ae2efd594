package engine

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/transport"
)

// ErrOverflow is returned when completions were lost.
var ErrOverflow = errors.New("engine: completion queue overflow: completions were lost and its queue pairs went to ERR; create it deeper than all queues that feed it together")

// CQ is a completion queue fed by a shard. Its methods are safe for concurrent use.
type CQ struct {
	shard    *Shard
	ring     *cq.Queue
	wake     chan struct{} // one waiter that does not lead shall look
	closed   chan struct{}
	happened func(transport.Event)  // nil: nobody wants to know
	spare    atomic.Pointer[waiter] // of the last Wait, for the next

	// Under the shard's lock.
	users    map[*QP]struct{}
	fresh    bool // on Shard.news
	reported bool // the overflow was dealt with
}

// NewCQ makes a completion queue that holds depth completions. happened, unless it is
// nil, is told of its event; see [Shard.tellEvents].
func (s *Shard) NewCQ(depth int, happened func(transport.Event)) *CQ {
	return &CQ{
		shard: s, ring: cq.NewQueue(depth), happened: happened,
		wake: make(chan struct{}, 1), closed: make(chan struct{}), users: make(map[*QP]struct{}),
	}
}

// complete adds a completion; publish will show it.
func (s *Shard) complete(c *CQ, wc *cq.WC, solicited bool) {
	if !c.ring.Push(wc, solicited) && c.ring.Overflown() && !c.reported {
		c.reported = true
		s.counters.CQOverflows++
		s.overflown = append(s.overflown, c)
	}
	if !c.fresh {
		c.fresh = true
		s.news = append(s.news, c)
	}
}

// signal wakes a waiter that does not lead.
func (c *CQ) signal() {
	if c.shard.waiters.Load() == 0 {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Depth is the number of completions that the queue holds.
func (c *CQ) Depth() int { return c.ring.Depth() }

// Poll moves completions to out and returns how many. If none is there it runs a
// turn, unless another goroutine is running one or the mode is Manual.
func (c *CQ) Poll(out []cq.WC) int {
	if n := c.ring.Poll(out); n > 0 || len(out) == 0 {
		return n
	}
	c.shard.inlineTurn(c)
	return c.ring.Poll(out)
}

// Notify arms the queue and returns the channel of its events: see cq.Queue.Arm.
func (c *CQ) Notify(solicitedOnly bool) <-chan struct{} {
	c.ring.Arm(solicitedOnly)
	return c.ring.Notify()
}

// Close ends all waiting. The caller has destroyed the queue pairs that feed the
// queue. Twice is harmless.
func (c *CQ) Close() {
	c.shard.mu.Lock()
	defer c.shard.unlock()
	select {
	case <-c.closed:
	default:
		close(c.closed)
		if w := c.spare.Swap(nil); w != nil {
			w.end()
		}
		c.ring.Close()
		c.shard.kick()
	}
}

// err says why there will be no more completions, nil if there may be.
func (c *CQ) err() error {
	select {
	case <-c.closed:
		return fmt.Errorf("engine: wait for completions: the completion queue was closed: %w", net.ErrClosed)
	case <-c.shard.closing:
		return fmt.Errorf("engine: wait for completions: the device was closed: %w", net.ErrClosed)
	default:
	}
	if c.ring.Overflown() {
		return ErrOverflow
	}
	if f := c.shard.failure.Load(); f != nil {
		return *f
	}
	return nil
}
