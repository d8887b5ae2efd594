package engine

import (
	"sync"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport/rc"
	"github.com/rocinante-rdma/roce/wire"
)

// Mode says who runs a shard's turns.
type Mode uint8

// Modes.
const (
	Auto   Mode = iota // waiters, else a background goroutine; they spin a little, then sleep
	Busy               // as Auto, but whoever leads never sleeps
	Manual             // the owner calls Poll; there are no goroutines
)

// reorderBytes is the memory for requests that came before their turn, for all queue
// pairs of a shard: two windows of almost 1,000 packets at the largest path MTU.
const reorderBytes = 8 << 20

// Config is what a shard is made of.
type Config struct {
	Link   link.Link
	Memory *mr.Table
	Mode   Mode
	Tap    trace.Tap // nil: none
	ICRC   ICRC
	Rand   func() uint64 // calls of it are serialised by the shard's lock
	// Failed is told once when the link has failed for good, and why; see
	// [Shard.tellEvents]. nil: nobody wants to know.
	Failed func(error)
}

// Shard is a link's queue with the queue pairs that it serves.
type Shard struct {
	link   link.Link
	queue  link.Queue
	memory *mr.Table
	tap    trace.Tap
	mode   Mode
	icrc   ICRC
	failed func(error)

	mu sync.Mutex // guards what follows, up to the next comment
	demux
	now        clock.Time // of the present turn
	counters   Counters
	deadlines  deadlines
	wheel      clock.Wheel[*QP] // wait until their next packet may leave
	spunAt     clock.Time       // when the leader last asked whether to spin for that
	touched    []*QP            // dealt with since the last settle
	ready      fifo             // may have something to send
	acking     fifo             // have had their turn in transmit; acknowledgements are left
	asked      fifo             // have received something and may owe an acknowledgement
	notifying  fifo             // owe their peer a CNP
	news       []*CQ            // have something to publish
	overflown  []*CQ            // lost completions; their QPs go to ERR
	room       int              // packets that the link takes for certain, as last asked
	deferred   int              // turns in a row that left transmitting to the next
	starved    bool             // the ready ones wait for room
	pending    int              // packets that the link could not pass on yet
	lastAnswer clock.Time
	armed      clock.Time // until when the leader sleeps
	armedTx    bool       // and that it waits for the network to take more
	closed     bool
	broken     error       // how the link failed for good, before failure says so
	happenings []happening // events that nobody was told of yet
	reorder    *rc.ReorderPool

	// Scratch of the present turn: reused so that nothing is allocated.
	rx       [rxBatch]link.Rx
	verifier wire.Verifier
	packet   bth.Packet
	out      rc.Out
	slot     link.Slot
	event    trace.Event
	pieces   [link.MaxSGE + 2][]byte

	// Safe for concurrent use.
	bells   atomic.Pointer[QP]
	failure atomic.Pointer[error] // of the link, for good
	progress
}

// New makes a shard for the link's queue. Unless the mode is Manual it begins to
// run at once; Close ends it.
func New(cfg Config) *Shard {
	s := &Shard{
		link: cfg.Link, queue: cfg.Link.Queue(), memory: cfg.Memory, tap: cfg.Tap, mode: cfg.Mode, icrc: cfg.ICRC,
		failed: cfg.Failed, lastAnswer: neverAnswered, armed: clock.Never, reorder: rc.NewReorderPool(reorderBytes),
	}
	s.demux.init(cfg.Rand)
	s.progress.init()
	if s.mode != Manual {
		s.workers.Go(s.background)
	}
	return s
}

// Quiesce returns when no turn and no post is under way that began before the call.
// Whoever took memory out of the table calls it before giving the memory up.
func (s *Shard) Quiesce() {
	s.mu.Lock()
	s.demux.all(func(q *QP) { q.sq.Quiesce() })
	s.unlock()
}

// Now is the link's time.
func (s *Shard) Now() clock.Time { return s.queue.Now() }
