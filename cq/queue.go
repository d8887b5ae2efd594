package cq

import (
	"sync"
	"sync/atomic"
)

// Queue is a bounded ring of completions. Any number of producers push and any
// number of consumers poll; what is pushed becomes visible when it is published,
// so that a producer pays for waking consumers once per turn.
//
// A queue that is pushed more than it holds has overflown, for good: completions
// are lost, and nobody can say which work they belonged to. Its owner brings the
// queue pairs that feed it to ERR.
type Queue struct {
	ring []WC

	producer  sync.Mutex // guards staged, solicited and the closing of events
	staged    uint64     // completions ever pushed
	solicited bool       // one of those not yet published raises a solicited event
	closed    bool

	published atomic.Uint64 // completions ever published
	overflown atomic.Bool

	consumer sync.Mutex
	taken    atomic.Uint64 // completions ever polled; written under consumer

	armed  atomic.Uint32
	events chan struct{}
}

// What a queue is armed for.
const (
	armedNot uint32 = iota
	armedSolicited
	armedAny
)

// NewQueue returns a ring that holds depth completions, at least one.
func NewQueue(depth int) *Queue {
	return &Queue{ring: make([]WC, max(depth, 1)), events: make(chan struct{}, 1)}
}

// Depth is the number of completions that the queue holds.
func (q *Queue) Depth() int { return len(q.ring) }

// Push appends a copy of wc, not yet visible to consumers. solicited says that the
// peer asked for an event; a completion with an error always raises one (IBTA
// vol. 1, 11.4.2.2). It returns false, and the completion is lost, if the queue is
// full or has overflown before, or is closed.
func (q *Queue) Push(wc *WC, solicited bool) bool {
	q.producer.Lock()
	defer q.producer.Unlock()
	if q.closed || q.overflown.Load() {
		return false
	}
	depth := uint64(len(q.ring))
	if q.staged-q.taken.Load() == depth {
		q.overflown.Store(true)
		return false
	}
	q.ring[q.staged%depth] = *wc
	q.staged++
	q.solicited = q.solicited || solicited || wc.Status != StatusSuccess
	return true
}

// Publish makes everything pushed visible to consumers and raises the event that
// the queue is armed for. It reports whether consumers have something new to see:
// completions, or that the queue has overflown.
func (q *Queue) Publish() bool {
	q.producer.Lock()
	defer q.producer.Unlock()
	overflown := q.overflown.Load()
	news := q.staged != q.published.Load() || overflown
	if !news {
		return false
	}
	q.published.Store(q.staged)
	armed := q.armed.Load()
	if armed == armedAny || armed == armedSolicited && (q.solicited || overflown) {
		q.raise()
	}
	q.solicited = false
	return true
}

// Poll moves the oldest completions to out and returns how many [ibv_poll_cq].
func (q *Queue) Poll(out []WC) int {
	if q.Len() == 0 {
		return 0
	}
	q.consumer.Lock()
	defer q.consumer.Unlock()
	taken, depth := q.taken.Load(), uint64(len(q.ring))
	n := min(uint64(len(out)), q.published.Load()-taken)
	for i := range n {
		out[i] = q.ring[(taken+i)%depth]
	}
	q.taken.Store(taken + n)
	return int(n)
}

// Len is the number of completions that Poll could return.
func (q *Queue) Len() int {
	taken := q.taken.Load() // first: it never passes published
	return int(q.published.Load() - taken)
}

// Overflown reports whether completions were lost.
func (q *Queue) Overflown() bool { return q.overflown.Load() }

// Notify is the channel that receives one value per event; see [Queue.Arm]. It is
// closed with the queue.
func (q *Queue) Notify() <-chan struct{} { return q.events }

// Arm asks for one event [ibv_req_notify_cq]: at the next completion, or, if
// solicitedOnly, at the next one that the peer solicited or that reports an error.
//
// No event can be lost. Completions that are already there raise it at once, of
// whichever kind they are, so the order of arming and polling does not matter; the
// channel keeps one event until it is received. An event may come late, when its
// completions are polled already: poll, and if there is nothing, arm again.
func (q *Queue) Arm(solicitedOnly bool) {
	kind := armedAny
	if solicitedOnly {
		kind = armedSolicited
	}
	q.armed.Store(kind)
	// Publish stores published before it loads armed, we the other way round: one
	// of the two sees the other's store.
	if q.Len() > 0 || q.Overflown() {
		q.producer.Lock()
		q.raise()
		q.producer.Unlock()
	}
}

// raise sends the event and disarms. The caller holds q.producer.
func (q *Queue) raise() {
	if q.closed {
		return
	}
	q.armed.Store(armedNot)
	select {
	case q.events <- struct{}{}:
	default: // an earlier event was not received yet: it will do
	}
}

// Close makes Push fail and closes the channel of events. Completions that were
// published can still be polled. Closing twice is harmless.
func (q *Queue) Close() {
	q.producer.Lock()
	defer q.producer.Unlock()
	if !q.closed {
		q.closed = true
		close(q.events)
	}
}
