package rc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// modelNames are the sides'.
var modelNames = [2]string{"A", "B"}

// modelWorld is two hosts with connected queue pairs, a wire between them, and time.
type modelWorld struct {
	history *modelHistory
	now     clock.Time
	hosts   [2]*modelHost
	conns   [][2]*modelEnd
	wire    modelWire
	met     modelMet
	log     *[]string
}

// modelMet counts what a history met.
type modelMet struct {
	histories, operations uint64 // work requests and receives completed
	faults                [numModelFaults]uint64
	statuses              [cq.StatusGeneral + 1]uint64
	succeeded             [qp.OpSendInv + 1]uint64 // requests, by operation
	drained               uint64
}

func (m *modelMet) add(n *modelMet) {
	m.histories += n.histories
	m.operations += n.operations
	m.drained += n.drained
	for i, k := range n.faults {
		m.faults[i] += k
	}
	for i, k := range n.statuses {
		m.statuses[i] += k
	}
	for i, k := range n.succeeded {
		m.succeeded[i] += k
	}
}

// completed counts a completion.
func (m *modelMet) completed(s cq.Status) {
	m.operations++
	m.statuses[s]++
}

// modelViolation is a finding: the machines did what the oracle does not allow.
type modelViolation string

// run executes the history and returns what it met, and what was found. log, unless
// nil, gets the conversation.
func (h *modelHistory) run(log *[]string) (met modelMet, found error) {
	w := &modelWorld{history: h, wire: newModelWire(h.rates), log: log}
	w.met.histories = 1
	defer func() {
		switch v := recover().(type) {
		case nil:
			met = w.met
		case modelViolation:
			found = fmt.Errorf("%v: %s", w.now, string(v))
		default:
			found = fmt.Errorf("%v: panic: %v\n%s", w.now, v, debug.Stack())
		}
	}()
	w.open()
	for i := range h.steps {
		w.step(&h.steps[i])
		w.pump()
	}
	w.finish()
	return
}

func (w *modelWorld) open() {
	for side := range w.hosts {
		w.hosts[side] = newModelHost(side, w.history)
	}
	for n := range w.history.conns {
		pair := [2]*modelEnd{newModelEnd(w, 0, n), newModelEnd(w, 1, n)}
		pair[0].peer, pair[1].peer = pair[1], pair[0]
		w.conns = append(w.conns, pair)
		for side, e := range pair {
			e.connect(w.history.psn[side], w.history.psn[1-side])
		}
	}
}

// ends are all of them.
func (w *modelWorld) ends(f func(*modelEnd)) {
	for i := range w.conns {
		f(w.conns[i][0])
		f(w.conns[i][1])
	}
}

// any reports whether something holds for one of them.
func (w *modelWorld) any(is func(*modelEnd) bool) bool {
	for i := range w.conns {
		if is(w.conns[i][0]) || is(w.conns[i][1]) {
			return true
		}
	}
	return false
}

func (w *modelWorld) step(s *modelStep) {
	e := w.conns[s.conn%len(w.conns)][s.side]
	if e.m.State() == qp.StateErr && e.peer.m.State() == qp.StateErr && !e.busy() && !e.peer.busy() {
		e.reset(w.history.psn[0]) // or nothing more would happen here
	}
	switch s.kind {
	case modelPost:
		e.post(s)
	case modelRecv:
		for range s.n {
			e.postRecv(e.recvSize(s), s.pieces)
		}
	case modelRun:
		w.run(time.Duration(s.n)*time.Microsecond, nil)
	case modelPlan:
		w.wire.planned = append(w.wire.planned, modelPlanned{s.side, s.class, s.n, s.fault})
	case modelDrain:
		e.drain()
	case modelResume:
		e.resume()
	case modelFail:
		e.fail()
	case modelReset:
		e.reset(bth.PSN(s.n))
	}
}

// run moves packets and time for d, or until somebody needs something.
func (w *modelWorld) run(d time.Duration, needed func(*modelEnd) bool) {
	until := w.now.Add(d)
	for range 500_000 {
		w.pump()
		if needed != nil && w.any(needed) {
			return
		}
		next := w.wire.due()
		w.ends(func(e *modelEnd) { next = clock.Earliest(next, e.m.Deadline()) })
		if next > until {
			w.now = until
			return
		}
		w.now = max(w.now, next)
		w.arrive()
		w.ends(func(e *modelEnd) {
			if e.m.Deadline() <= w.now {
				e.m.Advance(w.now)
			}
		})
	}
	panic(modelViolation("time stands still: packets and deadlines without end"))
}

// arrive delivers what is due; the sides answer after every batch of packets.
func (w *modelWorld) arrive() {
	for n := 1; ; n++ {
		p, due := w.wire.next(w.now)
		if !due {
			return
		}
		p.to.receive(p.raw)
		w.wire.free = append(w.wire.free, p.raw)
		if n%w.history.batch == 0 {
			w.pump()
		}
	}
}

// pump sends what the machines have to send.
func (w *modelWorld) pump() {
	w.ends(func(e *modelEnd) {
		for n := 0; e.sendOne(); n++ {
			if n > 100_000 {
				panic(modelViolation(fmt.Sprintf("%s sends without end", e)))
			}
		}
	})
}

// finish heals the network and lets everything come to its end: what was posted
// completes, whatever happened before.
func (w *modelWorld) finish() {
	w.wire.heal()
	for _, h := range w.hosts {
		h.limit = modelMemory
	}
	for round := 0; w.any((*modelEnd).busy); round++ {
		w.ends((*modelEnd).topUp)
		w.ends((*modelEnd).resume)
		w.run(2*time.Second, (*modelEnd).starves)
		if round == 1000 {
			panic(modelViolation("work does not complete:" + w.unfinished()))
		}
	}
	w.ends((*modelEnd).close)
	w.run(10*time.Second, nil)
	w.ends((*modelEnd).closed)
	for _, h := range w.hosts {
		h.compare()
	}
}

func (w *modelWorld) unfinished() (s string) {
	w.ends(func(e *modelEnd) {
		if e.busy() {
			s += fmt.Sprintf(" %s in %s with %d requests, blocked by %s, %d messages not received;", e, e.m.State(), len(e.pending), e.m.Why(), len(e.mail))
		}
	})
	return s
}

// note logs a packet, and what the wire did to it.
func (w *modelWorld) note(e *modelEnd, raw []byte, fault string) {
	if w.log == nil {
		return
	}
	var p packet
	if err := p.Parse(raw, nil); err != nil {
		panic(modelViolation(fmt.Sprintf("%s sent what does not parse: %v", e, err)))
	}
	w.say("%s sends %s %s", e, p, fault)
}

func (w *modelWorld) say(format string, args ...any) {
	if w.log != nil {
		*w.log = append(*w.log, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
	}
}

// modelHost is a side's memory: an area for each connection, where the peer works, and
// behind them the local buffers of requests, none of which is used twice.
type modelHost struct {
	side   int
	name   string
	table  *mr.Table
	region *mr.Region
	srq    *qp.SharedRecvQueue // nil: connections have receives of their own
	posted []modelReceive      // to srq
	pool   *rc.ReorderPool     // nil: nothing is held
	recvs  uint64              // receives ever posted

	buf, want []byte // the region, and what the oracle says of it
	used      int    // bytes of it given out
	limit     int    // of used
	area      int    // bytes of a connection's area
}

const (
	modelMemory = 1 << 20
	modelIOVA   = 0x10_0000_0000 // of side A's region; twice that is side B's
)

// modelBuffers are used by every history in turn; so much of them is not as at first.
var (
	modelBuffers [2]struct {
		buf, want []byte
		used      int
	}
	modelNoise = makeModelNoise()
)

func makeModelNoise() []byte {
	b := make([]byte, modelMemory)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(b) // never fails
	for i := range modelBuffers {
		modelBuffers[i].buf, modelBuffers[i].want = append([]byte(nil), b...), append([]byte(nil), b...)
	}
	return b
}

func newModelHost(side int, h *modelHistory) *modelHost {
	m := &modelBuffers[side]
	copy(m.buf[:m.used], modelNoise)
	copy(m.want[:m.used], modelNoise)
	m.used = 0
	r := rand.New(rand.NewPCG(uint64(side), 1))
	host := &modelHost{
		side: side, name: modelNames[side], table: mr.NewTable(r.Uint64), buf: m.buf, want: m.want,
		area: (h.maxLen() + 64 + 7) &^ 7, limit: modelMemory / 2, // the rest is for finish
	}
	var err error
	host.region, err = host.table.Register(pd, host.buf, uint64(side+1)*modelIOVA, allRight|mr.MWBind)
	if err != nil {
		panic(err)
	}
	if n := h.pool[side]; n > 0 {
		host.pool = rc.NewReorderPool(n)
	}
	if h.shared[side] {
		host.srq = qp.NewSharedRecvQueue(h.recvDepth, 4)
	}
	host.used = h.conns * host.area
	m.used = host.used
	return host
}

// alloc gives n bytes out, with a gap behind that nobody may touch; false if there are
// no more.
func (h *modelHost) alloc(n int) (off int, ok bool) {
	off = h.used
	if off+n+8 > h.limit {
		return 0, false
	}
	h.used += (n + 8 + 7) &^ 7
	modelBuffers[h.side].used = h.used
	return off, true
}

// compare holds the memory given out against the oracle's.
func (h *modelHost) compare() {
	if bytes.Equal(h.buf[:h.used], h.want[:h.used]) {
		return
	}
	for i := range h.used {
		if h.buf[i] != h.want[i] {
			panic(modelViolation(fmt.Sprintf("memory of %s at %d (area %d) is %#x, the oracle says %#x", h.name, i, i/h.area, h.buf[i], h.want[i])))
		}
	}
}
