package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestBadWorkSwallowsNothing proves C04: of a work request that fails by itself and three good
// ones behind it, the first completes with its own status, signaled or not, the others are
// flushed, none is missing; those that posting refuses leave nothing behind. Again and
// again, until the ring has gone round more than twice.
func TestBadWorkSwallowsNothing(t *testing.T) {
	p := newPair(t, defaults())
	refused := []qp.SendWR{
		{Op: 99}, {Op: qp.OpWrite, SGE: qp.SGE{Len: qp.MaxMessage + 1}}, {Op: qp.OpSend, SGL: make([]qp.SGE, 5)},
		{Op: qp.OpRead, Flags: qp.Inline, SGE: p.a.sge(0, 8)}, {Op: qp.OpFetchAdd, SGE: p.a.sge(0, 4)},
	}
	bad := []func(*qp.SendWR){
		func(wr *qp.SendWR) { wr.SGE.LKey ^= 1 },
		func(wr *qp.SendWR) { wr.SGE.Addr = p.a.addr(memSize - 1) },
	}
	const rounds = 300 // of four: the ring has 512
	var id uint64
	for round := range rounds {
		p.a.sends = nil
		for i := range refused {
			var wrong *qp.WRError
			require.ErrorAs(t, p.a.sq.Post(&refused[i], p.a), &wrong)
		}
		first := id
		for i := range 4 {
			wr := p.ask([]qp.Op{qp.OpWrite, qp.OpSend, qp.OpRead}[round%3], 0, 8)
			wr.ID = id
			id++
			if i == 0 {
				bad[round%len(bad)](&wr)
			}
			require.NoError(t, p.a.sq.Post(&wr, p.a)) // unsignaled
		}
		require.Empty(t, p.a.drain(), "nothing of it is sent")
		p.a.requireSends(cq.StatusLocalProtection, cq.StatusFlushed, cq.StatusFlushed, cq.StatusFlushed)
		require.Equal(t, []uint64{first, first + 1, first + 2, first + 3}, ids(p.a.sends))
		require.Zero(t, p.a.sq.Len())
		p.a.modify(qp.Attr{State: qp.StateReset}, qp.MaskState)
		p.a.connect(0x22, 100, 500, defaults())
	}
	p.a.sends = nil
	p.a.post(p.ask(qp.OpWrite, 0, 8))
	p.settle()
	p.a.requireSends(ok(1)...)
}

// TestFieldsOfErrors proves C06: a completion with an error has what means something then, which
// is the work, the status, the rule that was broken, the operation and the queue pair;
// everything else is zero, also where the work before it had it.
func TestFieldsOfErrors(t *testing.T) {
	p := newPair(t, defaults())
	for i := range uint64(3) {
		p.b.postRecv(10+i, 0, 8)
	}
	imm := p.ask(qp.OpSendImm, 0, 8)
	imm.Imm = 7
	p.a.post(imm)
	p.settle()
	require.Equal(t, cq.WithImm, p.b.recvs[0].Flags)
	long := p.ask(qp.OpSendImm, 0, 9)
	long.ID = 3
	p.a.post(long)
	read := p.ask(qp.OpRead, 0, 8)
	read.ID = 4
	p.a.post(read)
	p.settle()
	require.Equal(t, []cq.WC{
		{ID: 3, Status: cq.StatusRemoteInvalid, Opcode: cq.OpSend, VendorErr: uint32(transport.RuleRemoteInvalid), QPN: 0x11},
		{ID: 4, Status: cq.StatusFlushed, Opcode: cq.OpRDMARead, VendorErr: uint32(transport.RuleFlushed), QPN: 0x11},
	}, p.a.sends[1:])
	require.Equal(t, []cq.WC{
		{ID: 11, Status: cq.StatusLocalLength, Opcode: cq.OpRecv, VendorErr: uint32(transport.RuleTooLong), QPN: 0x22},
		{ID: 12, Status: cq.StatusFlushed, Opcode: cq.OpRecv, VendorErr: uint32(transport.RuleFlushed), QPN: 0x22},
	}, p.b.recvs[1:])
}

// TestZeroLengthOnTheWire proves C18 and section 9.7.3's rule that an empty message is one
// packet: with keys and addresses that mean nothing, on a queue pair that permits it, also when the
// answer is lost and the request comes again. The answer of a READ is one Only without payload.
func TestZeroLengthOnTheWire(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm, qp.OpWrite, qp.OpWriteImm, qp.OpRead} {
		p := newPair(t, defaults())
		p.b.postRecv(1, 0, 0)
		p.a.post(qp.SendWR{Op: op, RKey: 0xdeadbeef})
		p.a.post(qp.SendWR{Op: qp.OpWrite, RKey: 0xdeadbeef})
		sent := p.a.drain()
		require.Equal(t, []bth.PSN{100, 101}, psnsOf(sent), "%s takes one PSN", op)
		require.Zero(t, sent[0].PayloadLen())
		require.Len(t, p.b.say(sent[0]), 1) // lost
		p.advance(p.a)
		answers := p.b.say(p.a.drain()[0])
		require.Len(t, answers, 1)
		if op == qp.OpRead {
			require.Equal(t, bth.RCReadRespOnly, answers[0].Opcode)
			require.Zero(t, answers[0].PayloadLen())
		}
		require.EqualValues(t, 1, answers[0].AETH.MSN)
		p.a.recv(answers[0])
		p.a.requireSends(ok(1)...)
		require.Len(t, p.b.recvs, map[bool]int{true: 1}[op.ConsumesRecv()])
	}
}

// TestStraysOfAnOldConnection proves R22 for its whole kind: requests and answers of every form that
// belong to the connection before do nothing to the next one with the same numbers of
// queue pairs and other PSNs.
func TestStraysOfAnOldConnection(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 8)
	for _, op := range wireOps {
		p.a.post(p.ask(op, 0, 8))
	}
	requests := p.a.drain()
	answers := p.b.say(requests...)
	for _, h := range []*host{p.a, p.b} {
		h.modify(qp.Attr{State: qp.StateReset}, qp.MaskState)
		h.sends, h.recvs = nil, nil
	}
	p.a.connect(0x22, 0x801000, 0x802000, defaults()) // the old PSNs are far ahead of these
	p.b.connect(0x11, 0x802000, 0x801000, defaults())
	p.b.fill(0, 8, 1)
	before := p.b.snapshot(0, 8)
	p.b.postRecv(1, 0, 8)
	p.a.post(p.ask(qp.OpRead, 0, 8))
	read := p.a.drain()
	for _, stray := range requests {
		v := p.b.recv(stray)
		require.NotEqual(t, transport.Executed, v.Action, "%s: %s", stray, v)
	}
	for _, stray := range append(answers, p.b.drain()...) {
		p.a.recv(stray)
		require.Empty(t, p.a.sends, "%s", stray)
	}
	require.Equal(t, before, p.b.snapshot(0, 8))
	require.Empty(t, p.b.recvs)
	p.a.hear(p.b.say(read...)...)
	p.settle()
	p.a.requireSends(ok(1)...)
	require.Equal(t, before, p.a.snapshot(0, 8))
	require.Equal(t, qp.StateRTS, p.b.m.State())
}
