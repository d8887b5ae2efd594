package engine

import (
	"context"
	"errors"

	"github.com/rocinante-rdma/roce/cq"
)

// ErrManual is returned by Wait on a shard in Manual mode.
var ErrManual = errors.New("engine: cannot wait for completions: the device is in manual mode; call its Poll, then the CQ's")

// Wait blocks until completions are there, and moves them to out. What is there is
// returned even if ctx is done. The error says why there are none: ctx's, or
// [ErrOverflow], [ErrManual], net.ErrClosed, or the link's failure.
func (c *CQ) Wait(ctx context.Context, out []cq.WC) (int, error) {
	if n := c.take(out); n > 0 || len(out) == 0 {
		return n, nil
	}
	return c.wait(ctx, out)
}

// wait is Wait when nothing was there.
func (c *CQ) wait(ctx context.Context, out []cq.WC) (int, error) {
	w := c.borrowWaiter(ctx)
	defer c.returnWaiter(w)
	for {
		if n := c.take(out); n > 0 {
			return n, nil
		}
		if err := w.err(); err != nil {
			if n := c.take(out); n > 0 { // they came before the error did
				return n, nil
			}
			return 0, err
		}
		c.shard.waitTurn(w)
	}
}

// borrowWaiter returns the waiter of the last call if that had the same context, so
// that waiting again and again neither allocates nor registers with the context
// every time.
func (c *CQ) borrowWaiter(ctx context.Context) *waiter {
	w := c.spare.Swap(nil)
	if w != nil && w.done == ctx.Done() {
		w.ctx = ctx
		return w
	}
	if w != nil {
		w.end()
	}
	return &waiter{cq: c, ctx: ctx, done: ctx.Done()}
}

func (c *CQ) returnWaiter(w *waiter) {
	if other := c.spare.Swap(w); other != nil {
		other.end()
	}
}

// take polls, and passes the event on if it was one for many: an overflow is one for
// all.
func (c *CQ) take(out []cq.WC) int {
	n := c.ring.Poll(out)
	if n > 0 && c.ring.Len() > 0 || c.ring.Overflown() {
		c.signal()
	}
	return n
}

// waiter is the goal of CQ.Wait.
type waiter struct {
	cq   *CQ
	ctx  context.Context
	done <-chan struct{} // ctx's
	stop func() bool     // ends the watch on ctx
}

func (w *waiter) err() error {
	if w.cq.shard.mode == Manual {
		return ErrManual
	}
	if err := w.cq.err(); err != nil {
		return err
	}
	return w.ctx.Err()
}

func (w *waiter) reached() bool { return w.cq.ring.Len() > 0 || w.err() != nil }

func (w *waiter) hurry() *CQ { return w.cq }

func (w *waiter) beforeSleep() {
	if w.stop == nil && w.done != nil {
		w.stop = context.AfterFunc(w.ctx, w.cq.shard.kick)
	}
}

func (w *waiter) end() {
	if w.stop != nil {
		w.stop()
	}
}

// waitTurn leads if nobody does, else sleeps until the waiter's CQ has news, or
// leadership is free.
func (s *Shard) waitTurn(w *waiter) {
	s.waiters.Add(1)
	defer s.waiters.Add(-1)
	if w.reached() { // before signal began to count us
		return
	}
	if s.backgroundLeads.Load() {
		s.kick()
	}
	select {
	case <-s.lead:
		s.runFor(w, true)
		s.release()
	case <-w.cq.wake:
	case <-w.cq.closed:
	case <-s.closing:
	case <-w.ctx.Done():
	}
}
