package rc_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// toSQD takes a host to SQD, with the event asked for.
func (h *host) toSQD() {
	h.t.Helper()
	h.modify(qp.Attr{State: qp.StateSQD, NotifyDrained: true}, qp.MaskState|qp.MaskNotifyDrained)
}

// TestDrain proves 10.3.1.5: in SQD the message under way is finished, losses repaired
// included; what was not begun waits, and so does what is posted. One event says when
// the queue is drained. Back in RTS everything goes on in order.
func TestDrain(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpWrite, qp.OpRead} {
		t.Run(op.String(), func(t *testing.T) {
			p := newPair(t, defaults())
			want := p.a.fill(0, 8*testMTU, 3)
			if op == qp.OpRead {
				want = p.b.fill(0, 8*testMTU, 4)
			}
			for id := range uint64(4) {
				p.b.postRecv(id, 0, 8*testMTU)
				p.a.post(qp.SendWR{ID: id, Op: op, SGE: p.a.sge(0, 8*testMTU), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
			}
			p.b.recv(p.a.next()) // the first message is under way
			p.lose = loseOnce(2, func(*host, *packet) bool { return true })
			p.a.toSQD()
			require.True(t, p.a.m.Attr().Draining)
			require.Empty(t, p.a.events)
			p.a.post(qp.SendWR{ID: 4, Op: qp.OpWrite, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
			p.settle()
			require.Equal(t, []uint64{0}, ids(p.a.sends), "only what was begun")
			require.Equal(t, []transport.Event{transport.EventDrained}, p.a.events)
			require.Equal(t, transport.BlockedDrain, p.a.m.Why())
			require.False(t, p.a.m.Attr().Draining)

			p.a.modify(qp.Attr{State: qp.StateRTS}, qp.MaskState)
			p.settle()
			require.Equal(t, []uint64{0, 1, 2, 3, 4}, ids(p.a.sends))
			p.a.requireSends(ok(5)...)
			require.Equal(t, want, p.a.snapshot(0, 8*testMTU))
			require.Equal(t, want, p.b.snapshot(0, 8*testMTU))
			require.Len(t, p.a.events, 1, "one event per drain")
		})
	}
}

// TestDrainOfIdleQueue proves that an idle queue pair is drained at once, and that the
// event comes only if it was asked for.
func TestDrainOfIdleQueue(t *testing.T) {
	p := newPair(t, defaults())
	p.a.toSQD()
	require.Equal(t, []transport.Event{transport.EventDrained}, p.a.events)
	p.b.modify(qp.Attr{State: qp.StateSQD}, qp.MaskState)
	require.Empty(t, p.b.events)
	require.False(t, p.b.m.Attr().Draining)
}

// TestDrainedStillAnswers proves that SQD concerns the send queue only: the peer's
// requests are executed and answered (10.3.1.5).
func TestDrainedStillAnswers(t *testing.T) {
	p := newPair(t, defaults())
	p.b.toSQD()
	p.b.postRecv(1, 0, 10)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.settle()
	p.a.requireSends(ok(2)...)
	p.b.requireRecvs(ok(1)...)
}

// TestModifyInSQD proves the table of 11.2.5.2: which attributes a drained queue pair
// may change, that they take effect, and that nothing may change before it is drained,
// but for the way to ERR and RESET.
func TestModifyInSQD(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.b.recv(p.a.next())
	p.a.toSQD()
	var state *qp.StateError
	for _, m := range []qp.Mask{qp.MaskTimeout, qp.MaskState} {
		require.ErrorAs(t, p.a.m.Modify(p.now, &qp.Attr{State: qp.StateRTS}, m), &state)
	}
	p.settle()
	p.a.requireSends(ok(1)...)

	change := qp.Attr{
		PKey: 0x8001, Access: mr.RemoteRead, DestAddr: netip.MustParseAddr("10.0.0.8"), MaxDestRdAtomic: 2, MinRNRTimer: 3,
		Timeout: 5, RetryCount: 1, RNRRetry: 2, MaxRdAtomic: 1,
	}
	all := qp.MaskPKey | qp.MaskAccess | qp.MaskAV | qp.MaskMaxDestRdAtomic | qp.MaskMinRNRTimer | qp.MaskTimeout |
		qp.MaskRetryCount | qp.MaskRNRRetry | qp.MaskMaxRdAtomic
	p.a.modify(change, all)
	got := p.a.m.Attr()
	change.State, change.PathMTU, change.DestQPN, change.RQPSN, change.SQPSN = qp.StateSQD, got.PathMTU, got.DestQPN, got.RQPSN, got.SQPSN
	require.Equal(t, change, got)
	var attr *qp.AttrError
	for _, m := range []qp.Mask{qp.MaskPathMTU, qp.MaskDestQPN, qp.MaskRQPSN, qp.MaskSQPSN, qp.MaskNotifyDrained} {
		require.ErrorAs(t, p.a.m.Modify(p.now, &change, m), &attr)
		require.Equal(t, m.String(), attr.Attr)
	}
	p.a.modify(qp.Attr{State: qp.StateRTS, Access: allRight, MinRNRTimer: 4}, qp.MaskState|qp.MaskAccess|qp.MaskMinRNRTimer)

	p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.lose = func(*host, *packet) bool { return true }
	from := p.now
	p.settle()
	require.Equal(t, clock.Time(2*131072), p.now-from, "two timeouts of 131 µs: the new timeout and retry count hold")
	require.Equal(t, cq.StatusRetryExceeded, p.a.sends[1].Status)
}

// TestReadResourcesInSQD proves that changing max_dest_rd_atomic keeps what duplicates
// may still ask for, and that it cannot go below what is being answered.
func TestReadResourcesInSQD(t *testing.T) {
	p := newPair(t, defaults())
	read := func(psn bth.PSN) *packet {
		r := withRETH(request(bth.RCReadRequest, psn, 0), 8)
		r.RETH.VA, r.RETH.RKey = p.b.addr(0), uint32(p.b.mem.RKey())
		return r
	}
	for i := range 6 {
		p.b.recv(read(bth.PSN(100 + i)))
		if i < 3 {
			p.b.drain()
		}
	}
	p.b.toSQD()
	var attr *qp.AttrError
	require.ErrorAs(t, p.b.m.Modify(p.now, &qp.Attr{MaxDestRdAtomic: 2}, qp.MaskMaxDestRdAtomic), &attr)
	p.b.modify(qp.Attr{MaxDestRdAtomic: 4}, qp.MaskMaxDestRdAtomic)
	require.Len(t, p.b.drain(), 3, "what was being answered is")
	for psn, rule := range map[bth.PSN]transport.Rule{
		101: transport.RuleForgotten, 102: transport.RuleDuplicateRead, 105: transport.RuleDuplicateRead,
	} {
		require.Equal(t, rule, p.b.recv(read(psn)).Rule, "READ %d", psn)
		p.b.drain()
	}
	for i := range 5 {
		v := p.b.recv(read(bth.PSN(106 + i)))
		require.Equal(t, i < 4, v.Action == transport.Executed, "READ %d: %s", 106+i, v)
	}

	p.a.toSQD()
	p.a.modify(qp.Attr{}, qp.MaskMaxDestRdAtomic)
	p.a.modify(qp.Attr{MaxDestRdAtomic: 1}, qp.MaskMaxDestRdAtomic)
	p.a.modify(qp.Attr{MaxDestRdAtomic: 128}, qp.MaskMaxDestRdAtomic)
}

// TestDrainToErr proves that ERR flushes what waits in SQD, and what is under way.
func TestDrainToErr(t *testing.T) {
	p := newPair(t, defaults())
	for id := range uint64(3) {
		p.a.post(qp.SendWR{ID: id, Op: qp.OpWrite, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	}
	p.a.next()
	p.a.toSQD()
	p.a.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	p.a.requireSends(cq.StatusFlushed, cq.StatusFlushed, cq.StatusFlushed)
	require.Empty(t, p.a.events, "it never drained")
	require.Empty(t, p.a.drain())
}
