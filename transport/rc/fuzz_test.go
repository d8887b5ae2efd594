package rc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/fuzzing"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// The fuzz targets read their input as a script for one live machine: packets of
// any opcode, PSN, length and key, work posted, time passing. Whatever the script
// says, these invariants hold, or the target panics:
//
//   - no byte outside the registered region changes;
//   - work completes at most once, in the order posted, and all of it once the
//     queue pair is in ERR;
//   - while there is work in RTS there is a deadline, so that it ends;
//   - a packet makes the machine send a bounded number of packets, all well formed
//     and to the peer;
//   - acknowledgements name PSNs that were received, requests PSNs in order;
//   - what is held for its turn changes no memory, stays within its pool, and is given
//     up in ERR.

const (
	fuzzMTU    = 256
	fuzzRegion = 4096
	fuzzGuard  = 512
	fuzzDepth  = 16
	fuzzPool   = 8 << 10 // bytes for held requests: a dozen of them, or fewer
	// A READ may bring the whole region, and a duplicate may bring it again.
	fuzzPacketsPerStep = 2 * qp.MaxRdAtomic * fuzzRegion / fuzzMTU
)

// subject is the machine under test with all that it touches.
type subject struct {
	now      clock.Time
	m        *rc.Machine
	sq       *qp.SendQueue
	rq       *qp.RecvQueue
	shared   *qp.SharedRecvQueue // instead of rq
	table    *mr.Table
	memory   []byte // guard, region, guard
	region   *mr.Region
	pool     *rc.ReorderPool
	before   []byte     // the region before the packet in hand
	window   *mr.Window // on the region, bound and invalidated by the scripts
	posted   [2]uint64  // work posted to the send and the receive queue …
	finished [2]uint64  // … and completed

	// What a well-behaved peer would know, so that scripts get beyond the first
	// check: the next PSN in order, the work posted, and the bytes of the oldest READ
	// that have come.
	expected bth.PSN
	works    []qp.SendWR
	got      int
	read     bth.Packet // the newest READ or atomic sent to the machine
}

// newSubject makes a machine with a receive queue of its own, or one that shares its
// receives and minds credits.
func newSubject(shares bool) *subject {
	r := rand.New(rand.NewPCG(1, 2))
	s := &subject{
		sq: qp.NewSendQueue(fuzzDepth, 2, 64), rq: qp.NewRecvQueue(fuzzDepth, 2), table: mr.NewTable(r.Uint64),
		memory: make([]byte, fuzzGuard+fuzzRegion+fuzzGuard), before: make([]byte, fuzzRegion),
		pool: rc.NewReorderPool(fuzzPool),
	}
	region := s.memory[fuzzGuard:][:fuzzRegion:fuzzRegion]
	var err error
	if s.region, err = s.table.Register(pd, region, 0x10000, allRight|mr.MWBind); err != nil {
		panic(err)
	}
	if s.window, err = s.table.AllocWindow(pd); err != nil {
		panic(err)
	}
	cfg := rc.Config{QPN: 0x11, PD: pd, MaxSGE: 2, Reorder: s.pool}
	if shares {
		s.shared = qp.NewSharedRecvQueue(fuzzDepth, 2)
		s.rq, cfg.SharedRecv, cfg.Credits = nil, s.shared, true
	}
	s.m = rc.New(cfg, s.sq, s.rq, s.table, new(congestion.Window), s)
	return s
}

func (s *subject) SendDone(wc *cq.WC)         { s.finish(0, wc) }
func (s *subject) RecvDone(wc *cq.WC, _ bool) { s.finish(1, wc) }
func (s *subject) Happened(e transport.Event) { _ = e.String() }

// finish holds a completion against the order of posting. Sends are all signaled.
func (s *subject) finish(queue int, wc *cq.WC) {
	if wc.ID != s.finished[queue] {
		panic(fmt.Sprintf("queue %d: work %d completes, expected %d", queue, wc.ID, s.finished[queue]))
	}
	s.finished[queue]++
	if s.finished[queue] > s.posted[queue] {
		panic("more completions than work")
	}
}

func (s *subject) ReadLocal(e qp.SGE) ([]byte, bool) {
	span, fault := s.table.Resolve(pd, e.LKey, e.Addr, e.Len, 0)
	return span.Bytes, fault == mr.NoFault
}

// restart takes the machine through RESET to RTS. The peer's first PSN is first.
func (s *subject) restart(first bth.PSN) {
	s.table.Release(s.window, 0x11)
	for s.shared != nil && s.shared.Len() > 0 {
		s.shared.Take(&qp.RecvWQE{})
	}
	s.now, s.posted, s.finished = 0, [2]uint64{}, [2]uint64{}
	s.expected, s.works, s.got, s.read = first, s.works[:0], 0, bth.Packet{}
	steps := []struct {
		attr qp.Attr
		mask qp.Mask
	}{
		{qp.Attr{State: qp.StateReset}, qp.MaskState},
		{qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: allRight}, qp.MaskState | qp.MaskPKey | qp.MaskAccess},
		{
			qp.Attr{State: qp.StateRTR, PathMTU: fuzzMTU, DestQPN: 0x22, DestAddr: netip.AddrFrom4([4]byte{10, 0, 0, 9}), RQPSN: 0xfffffc, MaxDestRdAtomic: 4, MinRNRTimer: 1},
			qp.MaskState | qp.MaskAV | qp.MaskPathMTU | qp.MaskDestQPN | qp.MaskRQPSN | qp.MaskMaxDestRdAtomic | qp.MaskMinRNRTimer,
		},
		{
			qp.Attr{State: qp.StateRTS, SQPSN: 0xfffff8, Timeout: 1, RetryCount: 3, RNRRetry: 3, MaxRdAtomic: 4},
			qp.MaskState | qp.MaskSQPSN | qp.MaskTimeout | qp.MaskRetryCount | qp.MaskRNRRetry | qp.MaskMaxRdAtomic,
		},
	}
	for i := range steps {
		if err := s.m.Modify(s.now, &steps[i].attr, steps[i].mask); err != nil {
			panic(err)
		}
	}
}

// check holds the machine against the invariants that are about its whole state.
func (s *subject) check() {
	zero := make([]byte, fuzzGuard)
	if !bytes.Equal(s.memory[:fuzzGuard], zero) || !bytes.Equal(s.memory[fuzzGuard+fuzzRegion:], zero) {
		panic("memory outside the region was written")
	}
	if s.m.State() == qp.StateRTS && s.sq.Len() > 0 && s.m.Deadline() == clock.Never {
		panic(fmt.Sprintf("%d works wait for nothing: %s", s.sq.Len(), s.m.Why()))
	}
	if s.pool.Used() > fuzzPool || s.m.State() == qp.StateErr && s.pool.Used() > 0 {
		panic(fmt.Sprintf("%d bytes are held in %s", s.pool.Used(), s.m.State()))
	}
	if s.m.State() == qp.StateErr {
		s.m.Posted()
		left := [2]uint64{}
		if s.shared != nil {
			left[1] = uint64(s.shared.Len())
		}
		if s.posted[0] != s.finished[0] || s.posted[1] != s.finished[1]+left[1] {
			panic(fmt.Sprintf("ERR, but of %v works only %v completed, %v are left to others", s.posted, s.finished, left))
		}
	}
}

// pump takes everything the machine wants to send.
func (s *subject) pump() {
	var o rc.Out
	for n := 0; s.m.Next(s.now, transport.AllClasses, &o); n++ {
		if n > fuzzPacketsPerStep {
			panic("the machine does not stop sending")
		}
		var p bth.Packet
		if err := p.Parse(o.Hdr[:o.HdrLen], nil); err != nil && o.Pad == 0 {
			panic(err)
		}
		if p.DestQP != 0x22 || p.PKey != bth.DefaultPKey || o.Len > fuzzMTU || int(o.Pad) != -o.Len&3 {
			panic(fmt.Sprintf("malformed packet %+v", o))
		}
	}
}

// script reads an input byte by byte; behind its end everything is 0.
type script struct{ rest []byte }

func (r *script) more() bool { return len(r.rest) > 0 }

func (r *script) byte() byte {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *script) uint16() int { return int(r.byte())<<8 | int(r.byte()) }

// length favours the edges around the path MTU.
func (r *script) length() int {
	edges := [...]int{0, 1, 3, 4, fuzzMTU - 1, fuzzMTU, fuzzMTU + 1, 2 * fuzzMTU, 3*fuzzMTU + 5, fuzzRegion}
	if b := r.byte(); int(b) < 16*len(edges) {
		return edges[int(b)%len(edges)]
	}
	return r.uint16() % (fuzzRegion + 64)
}

// step does what the next bytes say; next makes a packet.
func (s *subject) step(r *script, next func(*script) *bth.Packet) {
	switch r.byte() % 8 {
	case 0:
		s.now = s.now.Add(time.Duration(r.uint16()) * time.Microsecond)
		s.m.Advance(s.now)
	case 1:
		s.postRecv(r)
	case 2:
		s.postSend(r)
	case 3:
		s.pump()
	case 4:
		s.drain(r)
	default:
		p := next(r)
		psn, n, reth := p.PSN, p.PayloadLen(), p.RETH.Len
		copy(s.before, s.region.Bytes())
		v := s.m.Receive(s.now, p)
		if v.Action == transport.Held && !bytes.Equal(s.before, s.region.Bytes()) {
			panic("a request was placed before its turn")
		}
		s.learn(v, psn, n, reth)
	}
}

// learn keeps what a peer would conclude from a verdict.
func (s *subject) learn(v transport.Verdict, psn bth.PSN, n int, reth uint32) {
	switch {
	case v.Rule == transport.RuleReadData:
		s.got += n
		s.expected = psn.Add(1)
	case v.Action == transport.Advanced:
		s.got = 0
		s.expected = psn.Add(1)
	case v.Action == transport.Executed:
		s.expected = psn.Add(max(1, (reth+fuzzMTU-1)/fuzzMTU) + uint32(v.Behind))
	}
}

func (s *subject) postRecv(r *script) {
	wr := qp.RecvWR{ID: s.posted[1], SGE: s.piece(r)}
	post := s.postOwn
	if s.shared != nil {
		s.shared.Arm(int(r.byte() % fuzzDepth))
		post = s.shared.Post
	}
	if post(&wr) == nil {
		s.posted[1]++
	}
	s.m.Posted()
}

func (s *subject) postOwn(wr *qp.RecvWR) error { return s.rq.Post(wr) }

// drain goes between RTS and SQD, and changes what may be changed there. That it may
// be refused is no fault.
func (s *subject) drain(r *script) {
	change := qp.Attr{State: qp.StateSQD, NotifyDrained: true, MaxDestRdAtomic: int(r.byte() % 8), MaxRdAtomic: int(r.byte() % 8)}
	mask := qp.MaskState | qp.MaskNotifyDrained
	if s.m.State() == qp.StateSQD {
		_ = s.m.Modify(s.now, &change, qp.MaskMaxDestRdAtomic|qp.MaskMaxRdAtomic)
		change.State, mask = qp.StateRTS, qp.MaskState
	}
	_ = s.m.Modify(s.now, &change, mask)
}

func (s *subject) piece(r *script) qp.SGE {
	e := qp.SGE{Addr: s.region.Base() + uint64(r.length()), Len: uint32(r.length()), LKey: s.region.LKey()}
	if r.byte() > 250 {
		e.LKey ^= 1
	}
	return e
}

// key is the region's, or the window's while it is bound, or a little off.
func (s *subject) key(r *script) mr.Key {
	key, b := s.region.RKey(), r.byte()
	if bound := s.window.Bound(); bound != nil && b >= 100 {
		key = bound.RKey()
	}
	if b > 240 {
		key ^= 1
	}
	return key
}

func (s *subject) postSend(r *script) {
	wr := qp.SendWR{
		ID: s.posted[0], Op: qp.Op(r.byte() % 11), Flags: qp.Flags(r.byte()&0xf) | qp.Signaled, SGE: s.piece(r),
		RemoteAddr: uint64(r.uint16()), RKey: s.key(r), Add: uint64(r.byte()),
	}
	switch {
	case wr.Op.Atomic():
		wr.SGE.Len = 8
	case wr.Op.Local():
		wr.SGE = qp.SGE{}
		wr.Bind = mr.NewBinding(s.window, s.region, s.region.Base()+uint64(r.length()), uint64(r.length()), allRight&^mr.LocalWrite)
	}
	if s.sq.Post(&wr, s) == nil {
		s.posted[0]++
		s.works = append(s.works, wr)
	}
	s.m.Posted()
}

var fuzzSubjects = []*subject{newSubject(false), newSubject(true)}

// fuzzResponder feeds requests to a responder.
func fuzzResponder(data []byte) {
	for _, s := range fuzzSubjects {
		r := &script{data}
		s.restart(0xfffffc)
		for r.more() {
			s.step(r, s.request)
		}
		s.pump()
		s.check()
	}
}

// fuzzCompleter posts work of all kinds and feeds responses to it.
func fuzzCompleter(data []byte) {
	for _, s := range fuzzSubjects {
		r := &script{data}
		s.restart(0xfffff8)
		for range 4 {
			s.postSend(r)
		}
		s.pump()
		for r.more() {
			s.step(r, s.response)
		}
		s.pump()
		s.check()
	}
}

// fuzzSeeds are scripts of packets in order, of noise, and of both.
func fuzzSeeds() [][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	var seeds [][]byte
	for i := range 32 {
		b := make([]byte, 40+8*i)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		seeds = append(seeds, b)
	}
	for op := range byte(32) {
		script := []byte{1, 9, 9, 0} // a receive for 4,096 bytes at the region's start
		for range 8 {
			script = append(script, 7, 0, op, 5, 1, 0, 0, 5, 1, 0, 0, 0, 3)
		}
		seeds = append(seeds, script)
	}
	return seeds
}

func FuzzResponder(f *testing.F) { fuzzTarget(f, fuzzResponder) }

func FuzzCompleter(f *testing.F) { fuzzTarget(f, fuzzCompleter) }

func fuzzTarget(f *testing.F, one func([]byte)) {
	for _, s := range fuzzSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { one(data) })
}

// TestDriveResponder and TestDriveCompleter run the fuzz targets by counted inputs,
// so that executions add up over the runs of the project's life.
func TestDriveResponder(t *testing.T) {
	fuzzing.Drive(t, "rc.FuzzResponder", fuzzSeeds(), fuzzResponder)
}

func TestDriveCompleter(t *testing.T) {
	fuzzing.Drive(t, "rc.FuzzCompleter", fuzzSeeds(), fuzzCompleter)
}
