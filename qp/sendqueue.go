package qp

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/mr"
)

// MaxMessage is the largest message in bytes (IBTA vol. 1, 9.4.1).
const MaxMessage uint32 = 1 << 31

// ErrQueueFull is returned by Post when every element of the ring is in use.
// Elements become free when their work completes; unsignaled work completes with
// the next signaled one.
var ErrQueueFull = errors.New("qp: queue full: its work has to complete first (poll the CQ; receives are used up by messages), or create a deeper queue")

// WRError says which field of a work request is wrong.
type WRError struct {
	Field string
	Why   string
}

// Error implements error.
func (e *WRError) Error() string { return fmt.Sprintf("qp: work request: %s %s", e.Field, e.Why) }

// SendWQE is a send work queue element: the snapshot of a work request, and what
// the requester has to remember of it.
type SendWQE struct {
	ID         uint64
	Op         Op
	Flags      Flags
	Imm        uint32 // host order
	RemoteAddr uint64
	RKey       mr.Key
	Compare    uint64
	SwapAdd    uint64 // CmpSwap: the new value; FetchAdd: the addend
	SGL        []SGE  // empty when the data is inline
	Inline     []byte
	Bind       *mr.Binding // let go of when it was carried out
	Len        uint32      // bytes of the message

	First, Last bth.PSN // the PSNs it occupies, once started
	MSN         bth.PSN // the peer's message sequence number when it has completed it
}

// SendQueue is the ring of send WQEs: any number of producers post, one transport
// machine consumes.
//
// Producer methods (Post, SetState) are safe for concurrent use; the consumer's
// (Tail, At, Pop, Drop) belong to the machine.
type SendQueue struct {
	mu    sync.Mutex // producers
	state State      // what Post checks

	// Made when the first work of their kind is posted: most of thousands of queue pairs
	// are idle, and these are nearly all of what one takes. The consumer looks at
	// elements only once the tail has told it of them.
	ring   []SendWQE // length: a power of two
	sges   []SGE     // maxSGE per element
	inline []byte    // maxInline per element

	depth, maxSGE, maxInline int

	head atomic.Uint32 // oldest element not completed
	tail atomic.Uint32 // behind the newest element posted
}

// NewSendQueue returns a ring for depth work requests of at most maxSGE pieces, or
// maxInline bytes of inline data, each.
func NewSendQueue(depth, maxSGE, maxInline int) *SendQueue {
	return &SendQueue{depth: depth, maxSGE: maxSGE, maxInline: maxInline}
}

// SetState tells producers the queue pair's state: RTS, SQD and ERR take work.
func (q *SendQueue) SetState(s State) {
	q.mu.Lock()
	q.state = s
	q.mu.Unlock()
}

// Post appends a snapshot of wr. Inline data is copied out of
// the region, which mem resolves. It returns ErrQueueFull, a *WRError or a *StateError.
func (q *SendQueue) Post(wr *SendWR, mem LocalReader) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state < StateRTS || q.state == StateSQE {
		return &StateError{"posting a send", q.state}
	}
	tail := q.tail.Load()
	if int(tail-q.head.Load()) >= q.depth {
		return ErrQueueFull
	}
	if q.ring == nil {
		n := ceilPow2(q.depth)
		q.ring, q.sges = make([]SendWQE, n), make([]SGE, n*q.maxSGE)
	}
	i := int(tail) & (len(q.ring) - 1)
	w := &q.ring[i]
	if err := q.fill(w, i, wr); err != nil {
		return err
	}
	if w.Flags&Inline != 0 {
		if err := q.copyInline(w, i, mem); err != nil {
			return err
		}
	}
	q.tail.Store(tail + 1)
	return nil
}

// Quiesce returns when no Post is under way that began before the call: one that is
// copies inline data.
func (q *SendQueue) Quiesce() {
	q.mu.Lock()
	q.mu.Unlock() //nolint:staticcheck // to wait for the holder is all
}

// LocalReader reads registered memory while posting inline data.
type LocalReader interface {
	// ReadLocal returns the bytes of a piece of local memory, or false if its L_Key
	// or range is not valid.
	ReadLocal(s SGE) ([]byte, bool)
}

// fill checks wr and copies it into ring element i.
func (q *SendQueue) fill(w *SendWQE, i int, wr *SendWR) error {
	sgl, n, err := snapshot(q.sges[i*q.maxSGE:(i+1)*q.maxSGE], &wr.SGE, wr.SGL)
	if err != nil {
		return err
	}
	if err := checkSend(wr, n); err != nil {
		return err
	}
	*w = SendWQE{
		ID: wr.ID, Op: wr.Op, Flags: wr.Flags, Imm: wr.Imm, RemoteAddr: wr.RemoteAddr, RKey: wr.RKey, Bind: wr.Bind,
		Compare: wr.Compare, SwapAdd: wr.Swap, SGL: sgl, Len: n,
	}
	if wr.Op == OpFetchAdd {
		w.Compare, w.SwapAdd = 0, wr.Add
	}
	return nil
}

func checkSend(wr *SendWR, n uint32) error {
	switch {
	case wr.Op >= numOps:
		return &WRError{"Op", fmt.Sprintf("%d is not an operation", wr.Op)}
	case wr.Op.Atomic() && n != mr.AtomicSize:
		return &WRError{"SGE", fmt.Sprintf("of an atomic must have %d bytes, has %d", mr.AtomicSize, n)}
	case wr.Op.Local() && n != 0:
		return &WRError{"SGE", "is for operations that move data"}
	case wr.Op == OpBindMW && wr.Bind == nil:
		return &WRError{"Bind", "must say what the window is to show"}
	case (wr.Op.Reads() || wr.Op.Local()) && wr.Flags&Inline != 0:
		return &WRError{"Flags", "Inline is for operations that send data"}
	case wr.Flags&^(Fence|Signaled|Solicited|Inline) != 0:
		return &WRError{"Flags", fmt.Sprintf("0x%x has unknown bits", uint8(wr.Flags))}
	}
	return nil
}

func (q *SendQueue) copyInline(w *SendWQE, i int, mem LocalReader) error {
	if int(w.Len) > q.maxInline {
		return &WRError{"SGE", fmt.Sprintf("has %d bytes, inline takes at most %d: leave Inline out, or create the queue pair with a larger MaxInline", w.Len, q.maxInline)}
	}
	if q.inline == nil {
		q.inline = make([]byte, len(q.ring)*q.maxInline)
	}
	buf := q.inline[i*q.maxInline : i*q.maxInline : (i+1)*q.maxInline]
	for _, s := range w.SGL {
		b, ok := mem.ReadLocal(s)
		if !ok {
			return &WRError{"SGE", fmt.Sprintf("[0x%x, +%d) is not in a region with L_Key 0x%x", s.Addr, s.Len, s.LKey)}
		}
		buf = append(buf, b...)
	}
	w.Inline, w.SGL = buf, nil
	return nil
}

// snapshot copies the pieces of a work request to dst and returns them with the
// sum of their lengths. Pieces of length 0 are left out.
func snapshot(dst []SGE, one *SGE, list []SGE) ([]SGE, uint32, error) {
	if len(list) == 0 && one.Len != 0 {
		dst[0] = *one
		if one.Len > MaxMessage {
			return nil, 0, &WRError{"SGE", fmt.Sprintf("has %d bytes, a message at most %d", one.Len, MaxMessage)}
		}
		return dst[:1], one.Len, nil
	}
	if len(list) > 0 && one.Len != 0 {
		return nil, 0, &WRError{"SGE", "and SGL are both set: use one"}
	}
	if len(list) > len(dst) {
		return nil, 0, &WRError{"SGL", fmt.Sprintf("has %d pieces, this queue pair takes %d: create it with a larger MaxSGE, or post several requests", len(list), len(dst))}
	}
	n, total := 0, uint64(0)
	for _, s := range list {
		if s.Len == 0 {
			continue
		}
		dst[n] = s
		n++
		total += uint64(s.Len)
	}
	if total > uint64(MaxMessage) {
		return nil, 0, &WRError{"SGL", fmt.Sprintf("has %d bytes, a message at most %d", total, MaxMessage)}
	}
	return dst[:n], uint32(total), nil
}

// Len is the number of elements posted and not yet completed.
func (q *SendQueue) Len() int { return int(q.tail.Load() - q.head.Load()) }

// Head is the index of the oldest element not completed.
func (q *SendQueue) Head() uint32 { return q.head.Load() }

// Tail is the index behind the newest element posted.
func (q *SendQueue) Tail() uint32 { return q.tail.Load() }

// At returns the element of an index from Head on and before Tail.
func (q *SendQueue) At(i uint32) *SendWQE { return &q.ring[int(i)&(len(q.ring)-1)] }

// Pop frees the oldest element; the caller has completed it.
func (q *SendQueue) Pop() { q.head.Add(1) }

// Drop frees all elements without completing them, for RESET.
func (q *SendQueue) Drop() {
	q.mu.Lock()
	q.head.Store(q.tail.Load())
	q.mu.Unlock()
}

func ceilPow2(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
