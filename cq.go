package roce

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rocinante-rdma/roce/internal/engine"
)

// ErrCQOverflow is matched by the error of waiting on a CQ that was given more
// completions than it holds. Some were lost, and its queue pairs went to ERR.
var ErrCQOverflow = engine.ErrOverflow

// ErrManual is matched by the error of waiting on a device in manual mode.
var ErrManual = engine.ErrManual

// CQ is a completion queue. All methods are safe for concurrent use.
type CQ struct {
	dev       *Device
	id        int
	cq        *engine.CQ
	solicited bool

	// Under dev.mu.
	closed bool
	users  map[*QP]struct{}
}

// CQOption is an option of [Device.CreateCQ].
type CQOption func(*CQ)

// SolicitedOnly makes [CQ.Notify] tell only of completions that the peer marked
// with [Solicited], and of errors.
func SolicitedOnly() CQOption { return func(c *CQ) { c.solicited = true } }

// CreateCQ makes a completion queue that holds depth completions. It must be as
// deep as all queues together that feed it: see [ErrCQOverflow] [ibv_create_cq].
func (d *Device) CreateCQ(depth int, opts ...CQOption) (*CQ, error) {
	if depth < 1 || depth > maxCQDepth {
		return nil, fmt.Errorf("roce: create a CQ: depth %d is not between 1 and %d", depth, maxCQDepth)
	}
	c := &CQ{dev: d, users: make(map[*QP]struct{})}
	c.cq = d.shard.NewCQ(depth, func(k EventKind) { d.events.tell(Event{Kind: k, CQ: c}) })
	for _, o := range opts {
		o(c)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.closedErr("create a CQ")
	}
	d.newestCQ++
	c.id = d.newestCQ
	d.cqs[c] = struct{}{}
	return c, nil
}

// String names the queue in messages.
func (c *CQ) String() string { return fmt.Sprintf("CQ %d", c.id) }

// Poll moves completions to wc, the oldest first, and returns how many. It never
// blocks; called in a loop it is the fastest way to wait [ibv_poll_cq].
func (c *CQ) Poll(wc []WC) int { return c.cq.Poll(wc) }

// Wait is Poll that blocks until there is at least one completion. What is there
// is returned before ctx is looked at. Any number of goroutines may wait on one
// CQ; each completion goes to one of them. The error is ctx's, or matches
// [ErrCQOverflow], [ErrManual] or net.ErrClosed
// [ibv_req_notify_cq, ibv_get_cq_event, ibv_ack_cq_events].
func (c *CQ) Wait(ctx context.Context, wc []WC) (int, error) { return c.cq.Wait(ctx, wc) }

// Notify asks for one event and returns the channel that it comes on, for select
// statements. Completions that are there already raise it at once, so nothing is
// lost whether one polls before or after; an event may come when its completions
// are polled already. Call it again for the next one; several goroutines share the
// one event. The channel is closed with the CQ [ibv_req_notify_cq].
func (c *CQ) Notify() <-chan struct{} { return c.cq.Notify(c.solicited) }

// Close frees the queue and ends all waiting. It is an error, which names them, if
// queue pairs use it. Closing again does nothing [ibv_destroy_cq].
func (c *CQ) Close() error {
	c.dev.mu.Lock()
	defer c.dev.mu.Unlock()
	if c.closed {
		return nil
	}
	if len(c.users) > 0 {
		return errors.New("roce: close CQ: in use by " + strings.Join(names(c.users), ", ") + ": close them first")
	}
	c.closed = true
	delete(c.dev.cqs, c)
	c.cq.Close()
	return nil
}
