package rc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// The harness: one or two machines, a region of memory each, and a wire without
// time between them. Tests read as conversations.

const (
	pd       mr.PD = 1
	memSize        = 1 << 20
	testMTU        = 1024
	allRight       = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic
)

// packet is a packet on the wire: parsed, with its own copy of the payload.
type packet struct {
	bth.Packet
	why transport.Cause
}

func (p packet) String() string {
	s := fmt.Sprintf("%s(%d", p.Opcode, p.PSN)
	if p.Opcode.Is(bth.HasAETH) {
		s += fmt.Sprintf(" %s MSN %d", p.AETH.Syndrome, p.AETH.MSN)
	}
	return s + fmt.Sprintf(" %d B)", p.PayloadLen())
}

// host is one end.
type host struct {
	t            *testing.T
	name         string
	now          *clock.Time
	m            *rc.Machine
	sq           *qp.SendQueue
	rq           *qp.RecvQueue
	table        *mr.Table
	mem          *mr.Region
	sends, recvs []cq.WC
	solicited    int
	events       []transport.Event
	resolved     func() // what happens after each look-up of the machine; nil: nothing
}

func (h *host) SendDone(wc *cq.WC) { h.sends = append(h.sends, *wc) }

func (h *host) RecvDone(wc *cq.WC, solicited bool) {
	h.recvs = append(h.recvs, *wc)
	if solicited {
		h.solicited++
	}
}

func (h *host) Happened(e transport.Event) { h.events = append(h.events, e) }

// Resolve implements mr.Resolver for the machine.
func (h *host) Resolve(pd mr.PD, key mr.Key, va uint64, n uint32, need mr.Access) (mr.Span, mr.Fault) {
	span, fault := h.table.Resolve(pd, key, va, n, need)
	if h.resolved != nil {
		h.resolved()
	}
	return span, fault
}

// ResolveRemote implements mr.Resolver for the machine.
func (h *host) ResolveRemote(pd mr.PD, qpn uint32, key mr.Key, va uint64, n uint32, need mr.Access) (mr.Span, mr.Fault) {
	span, fault := h.table.ResolveRemote(pd, qpn, key, va, n, need)
	if h.resolved != nil {
		h.resolved()
	}
	return span, fault
}

// Bind implements mr.Memory for the machine.
func (h *host) Bind(pd mr.PD, qpn uint32, b *mr.Binding) mr.Fault { return h.table.Bind(pd, qpn, b) }

// Invalidate implements mr.Memory for the machine.
func (h *host) Invalidate(pd mr.PD, qpn uint32, key mr.Key) bool {
	return h.table.Invalidate(pd, qpn, key)
}

// ReadLocal implements qp.LocalReader.
func (h *host) ReadLocal(s qp.SGE) ([]byte, bool) {
	span, fault := h.table.Resolve(pd, s.LKey, s.Addr, s.Len, 0)
	return span.Bytes, fault == mr.NoFault
}

func newHost(t *testing.T, name string, qpn uint32, now *clock.Time, opts ...func(*rc.Config)) *host {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(qpn), 1))
	h := &host{
		t: t, name: name, now: now,
		sq: qp.NewSendQueue(512, 4, 256), rq: qp.NewRecvQueue(512, 4), table: mr.NewTable(r.Uint64),
	}
	buf := make([]byte, memSize)
	var err error
	h.mem, err = h.table.Register(pd, buf, mr.Address(buf), allRight)
	require.NoError(t, err)
	cfg := rc.Config{QPN: qpn, PD: pd, MaxSGE: 4}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.SharedRecv != nil {
		h.rq = nil
	}
	h.m = rc.New(cfg, h.sq, h.rq, h, new(congestion.Window), h)
	return h
}

// options of a connection; the zero value is filled by defaults.
type options struct {
	access              mr.Access
	timeout             uint8
	retry, rnr          uint8
	initiator, response int
	psnA, psnB          bth.PSN
	goBackN             bool // of A
}

func defaults() options {
	return options{access: allRight, timeout: 14, retry: 7, rnr: 7, initiator: 16, response: 16, psnA: 100, psnB: 500}
}

// connect brings h to RTS towards a peer.
func (h *host) connect(peerQPN uint32, mine, theirs bth.PSN, o options) {
	h.t.Helper()
	h.toInit(o)
	h.toRTR(peerQPN, theirs, o)
	h.toRTS(mine, o)
}

func (h *host) toInit(o options) {
	h.t.Helper()
	h.modify(qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: o.access}, qp.MaskState|qp.MaskPKey|qp.MaskAccess)
}

func (h *host) toRTR(peerQPN uint32, theirs bth.PSN, o options) {
	h.t.Helper()
	h.modify(qp.Attr{
		State: qp.StateRTR, PathMTU: testMTU, DestQPN: peerQPN, DestAddr: netip.MustParseAddr("10.0.0.9"),
		RQPSN: theirs, MaxDestRdAtomic: o.response, MinRNRTimer: 14,
	}, qp.MaskState|qp.MaskAV|qp.MaskPathMTU|qp.MaskDestQPN|qp.MaskRQPSN|qp.MaskMaxDestRdAtomic|qp.MaskMinRNRTimer)
}

func (h *host) toRTS(mine bth.PSN, o options) {
	h.t.Helper()
	h.modify(qp.Attr{
		State: qp.StateRTS, SQPSN: mine, Timeout: o.timeout, RetryCount: o.retry, RNRRetry: o.rnr, MaxRdAtomic: o.initiator,
	}, qp.MaskState|qp.MaskSQPSN|qp.MaskTimeout|qp.MaskRetryCount|qp.MaskRNRRetry|qp.MaskMaxRdAtomic)
}

func (h *host) modify(a qp.Attr, m qp.Mask) {
	h.t.Helper()
	require.NoError(h.t, h.m.Modify(*h.now, &a, m))
}

// sge names a piece of the host's region.
func (h *host) sge(off, n int) qp.SGE {
	return qp.SGE{Addr: h.mem.Base() + uint64(off), Len: uint32(n), LKey: h.mem.LKey()}
}

// addr is the address of an offset in the host's region.
func (h *host) addr(off int) uint64 { return h.mem.Base() + uint64(off) }

func (h *host) bytes(off, n int) []byte { return h.mem.Bytes()[off : off+n] }

// snapshot copies a piece of the host's region.
func (h *host) snapshot(off, n int) []byte { return bytes.Clone(h.bytes(off, n)) }

// fill writes a pattern and returns it.
func (h *host) fill(off, n int, seed byte) []byte {
	b := h.bytes(off, n)
	for i := range b {
		b[i] = byte(i)*7 + byte(i>>8) + seed
	}
	return bytes.Clone(b)
}

func (h *host) post(wr qp.SendWR) {
	h.t.Helper()
	wr.Flags |= qp.Signaled
	require.NoError(h.t, h.sq.Post(&wr, h))
}

func (h *host) postRecv(id uint64, off, n int) {
	h.t.Helper()
	require.NoError(h.t, h.rq.Post(&qp.RecvWR{ID: id, SGE: h.sge(off, n)}))
}

// next takes the next packet of the machine, or nil.
func (h *host) next() *packet {
	h.t.Helper()
	var o rc.Out
	if !h.m.Next(*h.now, transport.AllClasses, &o) {
		return nil
	}
	raw := append([]byte(nil), o.Hdr[:o.HdrLen]...)
	n := 0
	for _, piece := range o.Pay {
		raw = append(raw, piece...)
		n += len(piece)
	}
	require.Equal(h.t, o.Len, n, "Out.Len is the sum of its pieces")
	raw = append(raw, make([]byte, o.Pad)...)
	p := &packet{why: o.Why}
	require.NoError(h.t, p.Parse(raw, nil))
	require.Zero(h.t, len(raw)%4, "packets are padded to four bytes")
	return p
}

// drain takes all packets there are now.
func (h *host) drain() []*packet {
	h.t.Helper()
	var out []*packet
	for p := h.next(); p != nil; p = h.next() {
		out = append(out, p)
	}
	return out
}

// recv gives the machine a packet.
func (h *host) recv(p *packet) transport.Verdict {
	c := p.Packet // the machine may use it as scratch
	return h.m.Receive(*h.now, &c)
}

// requireSends checks the completions of the send queue, in order.
func (h *host) requireSends(want ...cq.Status) { requireStatuses(h.t, h.name+" sends", want, h.sends) }

func (h *host) requireRecvs(want ...cq.Status) { requireStatuses(h.t, h.name+" recvs", want, h.recvs) }

func requireStatuses(t *testing.T, what string, want []cq.Status, got []cq.WC) {
	t.Helper()
	var s []cq.Status
	for _, wc := range got {
		s = append(s, wc.Status)
	}
	require.Equal(t, want, s, what)
}

// pair is two connected hosts.
type pair struct {
	t    *testing.T
	now  clock.Time
	a, b *host
	// lose says which packets never arrive; nil loses none.
	lose func(from *host, p *packet) bool
	log  []string
}

// newPair connects A and B; opts are B's.
func newPair(t *testing.T, o options, opts ...func(*rc.Config)) *pair {
	t.Helper()
	p := &pair{t: t}
	p.a = newHost(t, "A", 0x11, &p.now, func(c *rc.Config) { c.GoBackN = o.goBackN })
	p.b = newHost(t, "B", 0x22, &p.now, opts...)
	p.a.connect(0x22, o.psnA, o.psnB, o)
	p.b.connect(0x11, o.psnB, o.psnA, o)
	return p
}

func (p *pair) peer(h *host) *host {
	if h == p.a {
		return p.b
	}
	return p.a
}

// flow moves packets until neither side has any more at this instant.
func (p *pair) flow() {
	p.t.Helper()
	for moved := true; moved; {
		moved = false
		for _, h := range []*host{p.a, p.b} {
			for _, pkt := range h.drain() {
				moved = true
				lost := p.lose != nil && p.lose(h, pkt)
				note := ""
				if lost {
					note = " LOST"
				}
				p.log = append(p.log, fmt.Sprintf("%v %s %s%s", p.now, h.name, pkt, note))
				require.Less(p.t, len(p.log), 200000, "conversation does not end")
				if !lost {
					p.peer(h).recv(pkt)
				}
			}
		}
	}
}

// settle moves packets and time until nothing is due any more.
func (p *pair) settle() {
	p.t.Helper()
	for range 100000 {
		p.flow()
		due := clock.Earliest(p.a.m.Deadline(), p.b.m.Deadline())
		if due == clock.Never {
			return
		}
		p.now = due
		p.a.m.Advance(p.now)
		p.b.m.Advance(p.now)
	}
	p.t.Fatal("deadlines do not end")
}

// loseOnce loses the nth packet (from 1) that matches.
func loseOnce(nth int, match func(from *host, p *packet) bool) func(*host, *packet) bool {
	return func(from *host, p *packet) bool {
		if !match(from, p) {
			return false
		}
		nth--
		return nth == 0
	}
}
