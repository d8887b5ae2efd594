package roce

import (
	"context"
	"fmt"
)

// track matches the completions of one CQ with the calls that wait for them. A
// call owns a slot, whose number is the ID of its work request. One of the waiting
// calls waits on the CQ for all of them.
type track struct {
	cq      *CQ
	free    chan int      // slots in no use
	watch   chan struct{} // holds a token while nobody waits on the CQ
	slots   []slot
	scratch []WC // belongs to whoever holds the token
}

type slot struct {
	done chan struct{} // holds a token when wc is set
	wc   WC
}

func newTrack(cq *CQ, depth int) *track {
	t := &track{
		cq: cq, free: make(chan int, depth), watch: make(chan struct{}, 1),
		slots: make([]slot, depth), scratch: make([]WC, min(depth, 16)),
	}
	for i := range t.slots {
		t.slots[i].done = make(chan struct{}, 1)
		t.free <- i
	}
	t.watch <- struct{}{}
	return t
}

// run posts work and waits until it completes. after, if not nil, is called on
// success while the slot is still the call's. If ctx ends the connection is
// aborted; run returns when the work has completed all the same.
func (t *track) run(ctx context.Context, q *QP, what string, post func(slot int) error, after func(slot int)) (WC, error) {
	var i int
	select {
	case i = <-t.free:
	case <-ctx.Done():
		return WC{}, fmt.Errorf("roce: %s: nothing was posted: %w", what, context.Cause(ctx))
	}
	defer func() { t.free <- i }()
	if err := post(i); err != nil {
		return WC{}, q.explain(what, err)
	}
	wc, err := t.await(ctx, q, i)
	switch {
	case err != nil:
		return WC{}, q.explain(what, err)
	case wc.Err() == nil:
		if after != nil {
			after(i)
		}
		return wc, nil
	case ctx.Err() != nil && wc.Status == StatusFlushed:
		return WC{}, fmt.Errorf("roce: %s aborted, and with it %s: %w%s", what, q.connection(), context.Cause(ctx), q.waitedFor())
	}
	return WC{}, q.explain(what, wc.Err())
}

// await waits for the completion of a slot.
func (t *track) await(ctx context.Context, q *QP, i int) (WC, error) {
	s := &t.slots[i]
	for {
		select {
		case <-s.done:
			return s.wc, nil
		case <-t.watch:
			err := t.dispatch(ctx, i)
			t.watch <- struct{}{}
			if err != nil && ctx.Err() == nil {
				q.fail() // lets go of the buffer
				return WC{}, err
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil && len(s.done) == 0 {
			q.fail() // flushes: the completion is there now
			ctx = context.Background()
		}
	}
}

// dispatch waits on the CQ, for everybody, until slot i is done. The caller holds
// the token.
func (t *track) dispatch(ctx context.Context, i int) error {
	for len(t.slots[i].done) == 0 {
		n, err := t.cq.Wait(ctx, t.scratch)
		if err != nil {
			return err
		}
		for _, wc := range t.scratch[:n] {
			s := &t.slots[wc.ID]
			s.wc = wc
			s.done <- struct{}{}
		}
	}
	return nil
}
