package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// sharing has a machine take its receives from q.
func sharing(q *qp.SharedRecvQueue) func(*rc.Config) {
	return func(c *rc.Config) { c.SharedRecv = q }
}

// postShared posts receives of 4 KiB each to q, in B's memory.
func postShared(t *testing.T, q *qp.SharedRecvQueue, h *host, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, q.Post(&qp.RecvWR{ID: id, SGE: h.sge(int(id)*4096, 4096)}))
	}
}

// ids are those of completions.
func ids(wcs []cq.WC) (list []uint64) {
	for _, wc := range wcs {
		list = append(list, wc.ID)
	}
	return list
}

// TestSharedReceivesInOrderOfNeed proves 10.2.9: queue pairs take receives from a shared
// queue when their messages begin, and complete them when they end. A message under
// way keeps its own while another queue pair overtakes it.
func TestSharedReceivesInOrderOfNeed(t *testing.T) {
	q := qp.NewSharedRecvQueue(8, 4)
	now := new(clock.Time)
	slow, fast := newHost(t, "slow", 0x11, now, sharing(q)), newHost(t, "fast", 0x12, now, sharing(q))
	for _, h := range []*host{slow, fast} {
		h.connect(0x22, 100, 500, defaults())
	}
	fast.table, fast.mem = slow.table, slow.mem // one region for both
	postShared(t, q, slow, 1, 2)

	require.Equal(t, transport.Executed, slow.recv(request(bth.RCSendFirst, 500, testMTU)).Action)
	require.Equal(t, 1, q.Len(), "the first packet takes a receive")
	require.Equal(t, transport.Executed, fast.recv(request(bth.RCSendOnly, 500, 8)).Action)
	require.Equal(t, []uint64{2}, ids(fast.recvs))
	require.Empty(t, slow.recvs)
	require.Equal(t, transport.Executed, slow.recv(request(bth.RCSendMiddle, 501, testMTU)).Action)
	require.Equal(t, transport.Executed, slow.recv(request(bth.RCSendLast, 502, 8)).Action)
	require.Equal(t, []uint64{1}, ids(slow.recvs))
	require.EqualValues(t, 2*testMTU+8, slow.recvs[0].ByteLen)
}

// TestSharedQueueIsEmpty proves 9.7.4.1.5 for shared receives: the queue pair that asks
// gets an RNR NAK, the WRITE with immediate only at its last packet, and takes what is
// posted later.
func TestSharedQueueIsEmpty(t *testing.T) {
	q := qp.NewSharedRecvQueue(8, 4)
	p := newPair(t, defaults(), sharing(q))
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 8)})
	p.a.post(qp.SendWR{Op: qp.OpWriteImm, SGE: p.a.sge(0, 2*testMTU), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.flow()
	require.EqualValues(t, 1, p.b.m.Stats().RNRNAKs)
	postShared(t, q, p.b, 1)
	for p.a.m.Stats().RNRWaits < 2 {
		p.now = p.a.m.Deadline()
		p.a.m.Advance(p.now)
		p.flow()
	}
	p.a.requireSends(ok(1)...)
	postShared(t, q, p.b, 2)
	p.settle()
	p.a.requireSends(ok(2)...)
	require.Equal(t, []uint64{1, 2}, ids(p.b.recvs))
	require.Equal(t, cq.OpRecvRDMAWithImm, p.b.recvs[1].Opcode)
}

// TestSharedReceivesSurviveErr proves C03 and 10.2.9: ERR completes the receive that a
// message of the queue pair is using, and leaves the shared ones to the others. The
// event that it takes no more comes once, after that completion.
func TestSharedReceivesSurviveErr(t *testing.T) {
	for name, begun := range map[string]bool{"idle": false, "in a message": true} {
		t.Run(name, func(t *testing.T) {
			q := qp.NewSharedRecvQueue(8, 4)
			h := newHost(t, "B", 0x22, new(clock.Time), sharing(q))
			h.connect(0x11, 100, 500, defaults())
			postShared(t, q, h, 1, 2, 3)
			left := 3
			if begun {
				h.recv(request(bth.RCSendFirst, 500, testMTU))
				left = 2
			}
			h.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
			h.m.Posted()
			require.Equal(t, left, q.Len())
			require.Len(t, h.recvs, 3-left)
			for _, wc := range h.recvs {
				require.Equal(t, cq.StatusFlushed, wc.Status)
			}
			require.Equal(t, []transport.Event{transport.EventLastWQE}, h.events)
			h.modify(qp.Attr{State: qp.StateReset}, qp.MaskState)
			h.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
			require.Len(t, h.events, 2, "after RESET it is another life")
		})
	}
}

// TestSharedReceiveOfRefusedMessage proves that a message that is refused completes the
// receive it took with the reason, and that one refused before it took any takes none.
func TestSharedReceiveOfRefusedMessage(t *testing.T) {
	for name, c := range map[string]struct {
		script []*packet
		want   []cq.Status
		event  transport.Event
	}{
		"too long":        {[]*packet{request(bth.RCSendFirst, 500, testMTU), request(bth.RCSendLast, 501, testMTU)}, []cq.Status{cq.StatusLocalLength}, 0},
		"wrong sequence":  {[]*packet{request(bth.RCSendFirst, 500, testMTU), request(bth.RCSendOnly, 501, 4)}, []cq.Status{cq.StatusRemoteInvalid}, 0},
		"wrong length":    {[]*packet{request(bth.RCSendOnly, 500, testMTU+4)}, nil, transport.EventRequestError},
		"wrong key":       {[]*packet{request(bth.RCWriteOnlyImm, 500, 4)}, nil, transport.EventAccessError},
		"wrong DMA total": {[]*packet{withRETH(request(bth.RCWriteOnlyImm, 500, 4), 5)}, nil, transport.EventRequestError},
	} {
		t.Run(name, func(t *testing.T) {
			q := qp.NewSharedRecvQueue(8, 4)
			h := newHost(t, "B", 0x22, new(clock.Time), sharing(q))
			h.connect(0x11, 100, 500, defaults())
			for id := range uint64(2) {
				require.NoError(t, q.Post(&qp.RecvWR{ID: id, SGE: h.sge(0, 2*testMTU-1)}))
			}
			for i, pkt := range c.script {
				v := h.recv(pkt)
				require.Equal(t, i == len(c.script)-1, v.Action == transport.Failed, "%s", v)
			}
			h.requireRecvs(c.want...)
			require.Equal(t, 2-len(c.want), q.Len())
			want := []transport.Event{transport.EventLastWQE}
			if len(c.want) == 0 {
				want = []transport.Event{c.event, transport.EventLastWQE}
			}
			require.Equal(t, want, h.events)
		})
	}
}

// TestSharedLimit proves 10.2.9: the event comes once when fewer receives than the
// limit are left, and again only after arming again.
func TestSharedLimit(t *testing.T) {
	q := qp.NewSharedRecvQueue(8, 4)
	p := newPair(t, defaults(), sharing(q))
	send := func(n int) int {
		p.b.events = nil
		for range n {
			p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 8)})
		}
		p.flow()
		return len(p.b.events)
	}
	postShared(t, q, p.b, 1, 2, 3, 4, 5, 6)
	require.False(t, q.Arm(4))
	require.Zero(t, send(2), "four are not fewer than four")
	require.Equal(t, 1, send(1))
	require.Equal(t, transport.EventLimitReached, p.b.events[0])
	require.Zero(t, q.Limit())
	require.Zero(t, send(1), "one event per arming")
	require.False(t, q.Arm(2))
	require.Equal(t, 1, send(1))
	require.True(t, q.Arm(2), "so already")
	require.Zero(t, q.Limit())
}
