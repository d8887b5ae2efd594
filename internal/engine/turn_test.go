package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

func TestSendReachesThePeer(t *testing.T) {
	p := newPair(t)
	copy(p.a.region.Bytes(), "hello")
	require.NoError(t, p.qb.PostRecv(&qp.RecvWR{ID: 7, SGE: p.b.sge(0, 100)}))
	post(t, p.qa, qp.SendWR{ID: 5, Op: qp.OpSend, SGE: p.a.sge(0, 5)})
	require.Equal(t, []cq.WC{{ID: 5, Opcode: cq.OpSend, QPN: p.qa.QPN(), SrcQP: p.qb.QPN(), ByteLen: 5}}, p.run(t, p.a, 1))
	got := p.b.poll()
	require.Len(t, got, 1)
	require.EqualValues(t, 5, got[0].ByteLen)
	require.Equal(t, "hello", string(p.b.region.Bytes()[:5]))
}

// From post to completion nothing is allocated, whatever the operation.
func TestNothingIsAllocated(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	p := newPair(t)
	peer := p.b.region
	out := make([]cq.WC, 16)
	for name, wr := range map[string]qp.SendWR{
		"SEND":                 {Op: qp.OpSend, SGE: p.a.sge(0, 3000)},
		"SEND with immediate":  {Op: qp.OpSendImm, SGE: p.a.sge(0, 3000)},
		"SEND inline":          {Op: qp.OpSend, SGE: p.a.sge(0, 30), Flags: qp.Inline},
		"WRITE":                {Op: qp.OpWrite, SGE: p.a.sge(0, 3000), RemoteAddr: peer.Base(), RKey: peer.RKey()},
		"WRITE with immediate": {Op: qp.OpWriteImm, SGE: p.a.sge(0, 3000), RemoteAddr: peer.Base(), RKey: peer.RKey()},
		"READ":                 {Op: qp.OpRead, SGE: p.a.sge(0, 3000), RemoteAddr: peer.Base(), RKey: peer.RKey()},
		"FetchAdd":             {Op: qp.OpFetchAdd, SGE: p.a.sge(0, 8), RemoteAddr: peer.Base(), RKey: peer.RKey(), Add: 1},
		"CmpSwap":              {Op: qp.OpCompareSwap, SGE: p.a.sge(0, 8), RemoteAddr: peer.Base(), RKey: peer.RKey()},
	} {
		wr.Flags |= qp.Signaled
		recv := qp.RecvWR{SGE: p.b.sge(0, 4096)}
		once := func() {
			if p.qb.rq.Len() == 0 {
				if err := p.qb.PostRecv(&recv); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.qa.PostSend(&wr); err != nil {
				t.Fatal(err)
			}
			p.qa.Ring()
			for n := 0; n == 0; n = p.a.cq.Poll(out) {
				if _, err := p.world.Step(); err != nil {
					t.Fatal(err)
				}
			}
			if out[0].Status != cq.StatusSuccess {
				t.Fatalf("%s: %v", name, out[0].Status)
			}
			p.b.cq.Poll(out)
		}
		require.Zero(t, testing.AllocsPerRun(100, once), name)
	}
}

// C10: more completions than the CQ holds: an error, and its QPs go to ERR.
func TestOverflowFailsTheQueuePairs(t *testing.T) {
	p := newPair(t)
	small := p.a.shard.NewCQ(2, nil)
	bystander := p.qa
	q, err := p.a.shard.NewQP(QPConfig{PD: testPD, SendCQ: small, RecvCQ: small, SendDepth: 8, RecvDepth: 8, MaxSGE: 1})
	require.NoError(t, err)
	peer := p.b.qp()
	p.a.connect(q, peer)
	p.b.connect(peer, q)
	for range 3 {
		post(t, q, qp.SendWR{Op: qp.OpWrite, RKey: 1})
	}
	p.settle(t)
	out := make([]cq.WC, 4)
	require.Equal(t, 2, small.Poll(out), "what fitted is still there")
	require.ErrorIs(t, small.err(), ErrOverflow)
	require.Equal(t, qp.StateErr, q.State())
	require.Equal(t, qp.StateRTS, bystander.State())
	require.EqualValues(t, 1, p.a.shard.Counters().CQOverflows)
}

// C03: what is posted in ERR is flushed, receives and sends alike.
func TestPostingInErrorFlushes(t *testing.T) {
	p := newPair(t)
	for id := range uint64(5) {
		require.NoError(t, p.qa.PostRecv(&qp.RecvWR{ID: id, SGE: p.a.sge(0, 8)}))
	}
	p.qa.Fail()
	for id := range uint64(2) {
		require.NoError(t, p.qa.PostRecv(&qp.RecvWR{ID: 5 + id, SGE: p.a.sge(0, 8)}))
	}
	post(t, p.qa, qp.SendWR{ID: 7, Op: qp.OpSend})
	var recvs, sends []uint64
	for _, wc := range p.run(t, p.a, 8) {
		require.Equal(t, cq.StatusFlushed, wc.Status)
		if wc.Opcode.Recv() {
			recvs = append(recvs, wc.ID)
		} else {
			sends = append(sends, wc.ID)
		}
	}
	require.Equal(t, []uint64{0, 1, 2, 3, 4, 5, 6}, recvs, "in order")
	require.Equal(t, []uint64{7}, sends)
}

func TestDestroyedQueuePairIsGone(t *testing.T) {
	p := newPair(t)
	post(t, p.qa, qp.SendWR{Op: qp.OpWrite, RKey: 1})
	p.qb.Destroy()
	p.qb.Destroy()
	require.NoError(t, p.world.Run(p.world.Now().Add(1e6)))
	require.Empty(t, p.a.poll())
	require.NotZero(t, p.b.shard.Counters().ByRule[transport.RuleNoQP])
	p.qa.Destroy()
	p.settle(t)
	require.Empty(t, p.a.poll(), "a destroyed QP completes nothing")
	var fault *qp.StateError
	require.ErrorAs(t, p.qa.PostSend(&qp.SendWR{}), &fault)
}

// Many QPs with much to send take turns: none is far ahead of the others.
func TestQueuePairsShareTheLink(t *testing.T) {
	p := newPair(t)
	const pairs = 8
	var qs []*QP
	for range pairs {
		qa, qb := p.a.qp(), p.b.qp()
		p.a.connect(qa, qb)
		p.b.connect(qb, qa)
		qs = append(qs, qa)
	}
	peer := p.b.region
	for _, q := range qs {
		for range 16 {
			post(t, q, qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 1<<16), RemoteAddr: peer.Base(), RKey: peer.RKey()})
		}
	}
	half := p.run(t, p.a, pairs*16/2)
	done := map[uint32]int{}
	for _, wc := range half {
		done[wc.QPN]++
	}
	for _, q := range qs {
		require.InDelta(t, 8, done[q.QPN()], 3, "completions at half time: %v", done)
	}
}

// A turn that has completions for whoever runs it leaves transmitting to the next,
// but not for ever: a steady stream of messages is acknowledged.
func TestHurryDefersAFewTurns(t *testing.T) {
	p := newLoosePair(t)
	for range deferredTurns + 1 {
		require.NoError(t, p.qb.PostRecv(&qp.RecvWR{SGE: p.b.sge(0, 64)}))
	}
	hurriedTurn := func() {
		p.b.shard.mu.Lock()
		defer p.b.shard.unlock()
		p.b.shard.turn(p.b.cq)
	}
	acks := func() uint64 { return p.b.shard.Counters().ByCause[transport.CauseAck] }
	for turn := range deferredTurns + 1 {
		post(t, p.qa, qp.SendWR{Op: qp.OpSend})
		p.a.shard.Poll()
		p.arrive(t)
		hurriedTurn()
		require.Equal(t, turn+1, p.b.cq.ring.Len())
		require.EqualValues(t, turn/deferredTurns, acks(), "turn %d", turn)
	}
}

// A turn takes and sends no more than its bounds, however much there is of both: here
// 3,000 packets that wait, 16 of them READs of 64 KiB, and 64 WRITEs of 64 KiB posted. So
// timers, posts and Close get their turn.
func TestTurnsAreBounded(t *testing.T) {
	r := &rig{}
	r.pair = newLoosePair(t, withTap(r))
	r.meta = newRig(t).meta
	var psn uint32
	for i := range 3000 {
		read := i%200 == 0 && i < 3200
		data := r.packet(&r.meta, func(h *bth.Packet) {
			h.Opcode, h.PSN = bth.RCWriteOnly, r.qa.InitialPSN().Add(psn)
			psn++
			if read {
				h.Opcode = bth.RCReadRequest
				h.RETH = bth.RETH{VA: r.b.region.Base(), RKey: uint32(r.b.region.RKey()), Len: 1 << 16}
				psn += 63
			}
		}, nil)
		r.la.Inject(r.meta, data)
	}
	for range 64 {
		post(t, r.qb, qp.SendWR{Op: qp.OpWrite, SGE: r.b.sge(0, 1<<16)})
	}
	r.arrive(t)
	before, turns := r.b.shard.Counters(), 0
	for r.b.shard.Poll() {
		turns++
		c := r.b.shard.Counters()
		require.LessOrEqual(t, c.RxPackets-before.RxPackets, uint64(rxPackets+rxBatch-1))
		require.LessOrEqual(t, c.RxBytes-before.RxBytes, uint64(rxBytes+rxBatch*4200))
		require.LessOrEqual(t, c.TxPackets-before.TxPackets, uint64(txPackets+quantumPackets+1))
		before = c
		require.Less(t, turns, 1000)
	}
	require.EqualValues(t, 3000, before.RxPackets)
	require.GreaterOrEqual(t, turns, 3000/(rxPackets+rxBatch))
}
