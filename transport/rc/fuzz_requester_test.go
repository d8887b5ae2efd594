package rc_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
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

// The requester's fuzz target is a conversation of two machines over a wire that
// loses, repeats, reorders and delays as the input says, and then does so no more.
// Whatever it said before:
//
//   - the responder meets no request that it has to refuse;
//   - requests have PSNs in order, without gaps and not beyond the PSN window;
//   - all work completes, once and in order, unless retries were used up;
//   - every message, READ and atomic brings what it should.

const (
	talkSize   = 4096
	talkSource = 0    // of the requester: what it writes and sends; of the responder: what is read
	talkTarget = 2048 // of both: where WRITEs, SENDs, READs and atomics put something
	talkLimit  = 4 * fuzzMTU
	talkPool   = 4 << 10 // bytes: half a dozen held requests
)

// talker is one end of a conversation.
type talker struct {
	m      *rc.Machine
	sq     *qp.SendQueue
	rq     *qp.RecvQueue
	table  *mr.Table
	region *mr.Region
	sent   []bth.Packet // on their way, with their own payload
	talk   *talk
}

// talk is the conversation of a requester and a responder.
type talk struct {
	now              clock.Time
	asker, answerer  *talker
	works            []qp.SendWR
	messages         []qp.SendWR // SENDs and WRITEs with immediate, in order
	completed, taken int
	receives         uint64
	newest           bth.PSN // behind the newest request sent
	added            uint64
}

func (e *talker) SendDone(wc *cq.WC)         { e.talk.completes(wc) }
func (e *talker) RecvDone(wc *cq.WC, _ bool) { e.talk.arrives(wc) }
func (e *talker) Happened(transport.Event)   {}

func (e *talker) ReadLocal(s qp.SGE) ([]byte, bool) {
	span, fault := e.table.Resolve(pd, s.LKey, s.Addr, s.Len, 0)
	return span.Bytes, fault == mr.NoFault
}

func newTalker(t *talk, cfg rc.Config) *talker {
	e := &talker{talk: t, sq: qp.NewSendQueue(fuzzDepth, 2, 64), rq: qp.NewRecvQueue(fuzzDepth, 2)}
	key := uint64(0)
	e.table = mr.NewTable(func() uint64 { key++; return key })
	var err error
	if e.region, err = e.table.Register(pd, make([]byte, talkSize), 0x10000, allRight); err != nil {
		panic(err)
	}
	cfg.QPN, cfg.PD, cfg.MaxSGE = 0x11, pd, 2
	e.m = rc.New(cfg, e.sq, e.rq, e.table, new(congestion.Window), e)
	return e
}

// restart connects the machine: the first PSN of both sides is near the wrap.
func (e *talker) restart() {
	e.sent = e.sent[:0]
	b := e.region.Bytes()
	for i := range b {
		b[i] = byte(i*7) + byte(i>>8)
	}
	clear(b[talkTarget:])
	steps := []struct {
		attr qp.Attr
		mask qp.Mask
	}{
		{qp.Attr{State: qp.StateReset}, qp.MaskState},
		{qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: allRight}, qp.MaskState | qp.MaskPKey | qp.MaskAccess},
		{
			qp.Attr{State: qp.StateRTR, PathMTU: fuzzMTU, DestQPN: 0x11, DestAddr: netip.AddrFrom4([4]byte{10, 0, 0, 9}), RQPSN: 0xfffff0, MaxDestRdAtomic: 4, MinRNRTimer: 1},
			qp.MaskState | qp.MaskAV | qp.MaskPathMTU | qp.MaskDestQPN | qp.MaskRQPSN | qp.MaskMaxDestRdAtomic | qp.MaskMinRNRTimer,
		},
		{
			qp.Attr{State: qp.StateRTS, SQPSN: 0xfffff0, Timeout: 8, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 4},
			qp.MaskState | qp.MaskSQPSN | qp.MaskTimeout | qp.MaskRetryCount | qp.MaskRNRRetry | qp.MaskMaxRdAtomic,
		},
	}
	for i := range steps {
		if err := e.m.Modify(e.talk.now, &steps[i].attr, steps[i].mask); err != nil {
			panic(err)
		}
	}
}

// pump puts what the machine wants to send on the wire.
func (e *talker) pump() {
	var o rc.Out
	for n := 0; e.m.Next(e.talk.now, transport.AllClasses, &o); n++ {
		if n > fuzzPacketsPerStep {
			panic("the machine does not stop sending")
		}
		raw := slices.Concat(append([][]byte{o.Hdr[:o.HdrLen]}, append(o.Pay, make([]byte, o.Pad))...)...)
		var p bth.Packet
		if err := p.Parse(raw, nil); err != nil {
			panic(err)
		}
		e.talk.ordered(&p)
		e.sent = append(e.sent, p)
	}
}

// ordered holds a request against those before it.
func (t *talk) ordered(p *bth.Packet) {
	if p.Opcode.Is(bth.Response) {
		return
	}
	n := uint32(1)
	if p.Opcode == bth.RCReadRequest {
		n = max(1, (p.RETH.Len+fuzzMTU-1)/fuzzMTU)
	}
	switch {
	case p.PSN.After(t.newest):
		panic(fmt.Sprintf("request %d, but %d was never sent", p.PSN, t.newest))
	case p.PSN == t.newest:
		t.newest = p.PSN.Add(n)
	case p.PSN.Add(n).After(t.newest):
		panic(fmt.Sprintf("request %d goes beyond %d", p.PSN, t.newest))
	}
}

// deliver gives the oldest packet on the wire to the other end.
func (e *talker) deliver(to *talker) {
	p := e.sent[0]
	e.sent = e.sent[1:]
	v := to.m.Receive(e.talk.now, &p)
	if v.Action == transport.Failed && v.Rule != transport.RuleRetryExceeded {
		panic(v.String())
	}
}

// mistreat does something to the packets on the wire.
func (e *talker) mistreat(what byte) {
	if len(e.sent) == 0 {
		return
	}
	switch what % 4 {
	case 0:
		e.sent = e.sent[1:]
	case 1:
		e.sent = append(e.sent, e.sent[0])
	case 2:
		e.sent = append(e.sent[1:], e.sent[0])
	case 3:
		slices.Reverse(e.sent)
	}
}

// post draws a work request.
func (t *talk) post(r *script) {
	wr := qp.SendWR{ID: uint64(len(t.works)), Op: qp.Op(r.byte() % 7), Flags: qp.Flags(r.byte()&2) | qp.Signaled}
	n, off := r.length()%talkLimit, int(r.byte())*4
	a, b := t.asker.region, t.answerer.region
	wr.RKey, wr.SGE = b.RKey(), qp.SGE{Addr: a.Base() + uint64(off), Len: uint32(n), LKey: a.LKey()}
	switch {
	case wr.Op.Atomic():
		wr.Op = qp.OpFetchAdd
		wr.Add, wr.RemoteAddr = 1, b.Base()+talkSize-8
		wr.SGE.Addr, wr.SGE.Len = a.Base()+talkTarget, 8
	case wr.Op == qp.OpRead:
		wr.RemoteAddr, wr.SGE.Addr = b.Base()+uint64(off), a.Base()+talkTarget
	default:
		wr.RemoteAddr = b.Base() + talkTarget
	}
	if t.asker.sq.Post(&wr, t.asker) != nil {
		return
	}
	t.works = append(t.works, wr)
	if wr.Op.ConsumesRecv() {
		t.messages = append(t.messages, wr)
	}
	t.asker.m.Posted()
}

func (t *talk) postRecv() {
	b := t.answerer.region
	wr := qp.RecvWR{ID: t.receives, SGE: qp.SGE{Addr: b.Base() + talkTarget, Len: talkLimit, LKey: b.LKey()}}
	if t.answerer.rq.Post(&wr) == nil {
		t.receives++
	}
}

// completes holds a completion of the requester against the work. What a READ or an
// atomic brought is there now, and nothing later came before its turn.
func (t *talk) completes(wc *cq.WC) {
	if wc.ID != uint64(t.completed) || t.completed >= len(t.works) {
		panic(fmt.Sprintf("work %d completes, expected %d of %d", wc.ID, t.completed, len(t.works)))
	}
	w := &t.works[t.completed]
	t.completed++
	if wc.Status != cq.StatusSuccess {
		return
	}
	landed := t.asker.region.Bytes()[talkTarget:]
	switch {
	case w.Op == qp.OpRead:
		if !bytes.Equal(landed[:w.SGE.Len], t.answerer.region.Bytes()[w.RemoteAddr-t.answerer.region.Base():][:w.SGE.Len]) {
			panic(fmt.Sprintf("READ %d brought other bytes", wc.ID))
		}
	case w.Op.Atomic():
		if was := binary.NativeEndian.Uint64(landed); was != t.added {
			panic(fmt.Sprintf("FetchAdd %d found %d, expected %d", wc.ID, was, t.added))
		}
		t.added++
	}
}

// arrives holds a message against the work.
func (t *talk) arrives(wc *cq.WC) {
	if wc.Status != cq.StatusSuccess {
		return
	}
	w := &t.messages[t.taken]
	t.taken++
	if wc.ID != uint64(t.taken-1) || wc.ByteLen != w.SGE.Len {
		panic(fmt.Sprintf("receive %d of %d bytes, expected %d of %d", wc.ID, wc.ByteLen, t.taken-1, w.SGE.Len))
	}
	want := t.asker.region.Bytes()[w.SGE.Addr-t.asker.region.Base():][:w.SGE.Len]
	if !bytes.Equal(want, t.answerer.region.Bytes()[talkTarget:][:len(want)]) {
		panic(fmt.Sprintf("message %d has other bytes", wc.ID))
	}
}

// step does what the next bytes say.
func (t *talk) step(r *script) {
	t.asker.pump()
	t.answerer.pump()
	from, to := t.asker, t.answerer
	b := r.byte()
	if b&0x80 != 0 {
		from, to = to, from
	}
	switch b % 16 {
	case 0:
		t.post(r)
	case 1:
		t.postRecv()
	case 2:
		t.wait(time.Duration(r.byte()) * 16 * time.Microsecond)
	case 3, 4:
		from.mistreat(r.byte())
	default:
		for n := b % 16; n > 4 && len(from.sent) > 0; n-- {
			from.deliver(to)
		}
	}
}

func (t *talk) wait(d time.Duration) {
	t.now = t.now.Add(d)
	t.asker.m.Advance(t.now)
	t.answerer.m.Advance(t.now)
}

// finish lets everything arrive until nothing is left to do.
func (t *talk) finish() {
	for range 10000 {
		t.postRecv()
		t.asker.pump()
		t.answerer.pump()
		due := t.asker.m.Deadline()
		switch {
		case len(t.asker.sent) > 0:
			t.asker.deliver(t.answerer)
		case len(t.answerer.sent) > 0:
			t.answerer.deliver(t.asker)
		case due != clock.Never:
			t.wait(max(due.Sub(t.now), 0))
		default:
			t.verify()
			return
		}
	}
	panic("the conversation does not end: " + t.asker.m.Why().String())
}

func (t *talk) verify() {
	if t.completed != len(t.works) {
		panic(fmt.Sprintf("%d works of %d completed", t.completed, len(t.works)))
	}
	if t.asker.m.State() == qp.StateErr {
		return // deliver saw why
	}
	for i := len(t.works) - 1; i >= 0; i-- {
		if w := &t.works[i]; !w.Op.Reads() {
			want := t.asker.region.Bytes()[w.SGE.Addr-t.asker.region.Base():][:w.SGE.Len]
			if w.Op != qp.OpWriteImm && !bytes.Equal(want, t.answerer.region.Bytes()[talkTarget:][:len(want)]) {
				panic("the last message has other bytes")
			}
			break
		}
	}
	got := binary.NativeEndian.Uint64(t.answerer.region.Bytes()[talkSize-8:])
	if t.taken != len(t.messages) || got != t.added {
		panic(fmt.Sprintf("%d of %d messages arrived, %d of %d were added", t.taken, len(t.messages), got, t.added))
	}
}

func newTalk(goBackN bool, pool *rc.ReorderPool) *talk {
	t := &talk{}
	t.asker = newTalker(t, rc.Config{GoBackN: goBackN})
	t.answerer = newTalker(t, rc.Config{Reorder: pool})
	return t
}

// talks are of requesters that ask or not, and responders that hold nothing, little or
// all.
var talks = []*talk{
	newTalk(false, rc.NewReorderPool(1<<20)), newTalk(false, rc.NewReorderPool(talkPool)), newTalk(false, nil),
	newTalk(true, rc.NewReorderPool(1<<20)), newTalk(true, nil),
}

func fuzzRequester(data []byte) {
	r := &script{data}
	t := talks[int(r.byte())%len(talks)]
	*t = talk{asker: t.asker, answerer: t.answerer, works: t.works[:0], messages: t.messages[:0], newest: 0xfffff0}
	t.asker.restart()
	t.answerer.restart()
	for r.more() {
		t.step(r)
	}
	t.finish()
}

func FuzzRequester(f *testing.F) { fuzzTarget(f, fuzzRequester) }

// TestDriveRequester runs the target by counted inputs.
func TestDriveRequester(t *testing.T) {
	fuzzing.Drive(t, "rc.FuzzRequester", fuzzSeeds(), fuzzRequester)
}
