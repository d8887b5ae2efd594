package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
