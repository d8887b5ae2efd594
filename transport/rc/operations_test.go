package rc_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
)

var lengths = []int{0, 1, 3, 4, 1023, 1024, 1025, 2048, 4097, 65537, 300001}

func ok(n int) []cq.Status { return make([]cq.Status, n) }

// TestSend proves SEND with and without immediate at the edges of segmentation.
func TestSend(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm} {
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%s/%d", op, n), func(t *testing.T) {
				p := newPair(t, defaults())
				want := p.a.fill(0, n, 1)
				p.b.postRecv(77, 0, n)
				p.a.post(qp.SendWR{ID: 5, Op: op, SGE: p.a.sge(0, n), Imm: 0xabcd1234})
				p.settle()
				p.a.requireSends(ok(1)...)
				p.b.requireRecvs(ok(1)...)
				wc := p.b.recvs[0]
				require.Equal(t, uint64(77), wc.ID)
				require.Equal(t, uint32(n), wc.ByteLen)
				require.Equal(t, cq.OpRecv, wc.Opcode)
				if op == qp.OpSendImm {
					require.Equal(t, cq.WithImm, wc.Flags)
					require.Equal(t, uint32(0xabcd1234), wc.Imm)
				}
				require.Zero(t, p.a.sends[0].Flags, "the sender's WC carries no immediate (C02)")
				require.Equal(t, want, p.b.snapshot(0, n))
				require.Zero(t, p.a.m.Stats().Retransmitted)
			})
		}
	}
}

// TestWrite proves WRITE, and that with immediate it completes a receive with the
// message's length and leaves its buffer alone (C01).
func TestWrite(t *testing.T) {
	for _, op := range []qp.Op{qp.OpWrite, qp.OpWriteImm} {
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%s/%d", op, n), func(t *testing.T) {
				p := newPair(t, defaults())
				want := p.a.fill(16, n, 2)
				p.b.postRecv(9, 900000, 100)
				p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(16, n), RemoteAddr: p.b.addr(64), RKey: p.b.mem.RKey(), Imm: 7})
				p.settle()
				p.a.requireSends(ok(1)...)
				require.Equal(t, want, p.b.snapshot(64, n))
				require.Equal(t, make([]byte, 64), p.b.bytes(0, 64), "nothing before the range is touched")
				require.Equal(t, make([]byte, 64), p.b.bytes(64+n, 64), "nothing behind the range is touched")
				if op == qp.OpWrite {
					require.Empty(t, p.b.recvs)
					return
				}
				require.Equal(t, cq.WC{ID: 9, Opcode: cq.OpRecvRDMAWithImm, ByteLen: uint32(n), Flags: cq.WithImm, Imm: 7, QPN: 0x22, SrcQP: 0x11}, p.b.recvs[0])
				require.Equal(t, make([]byte, 100), p.b.bytes(900000, 100))
			})
		}
	}
}

// TestRead proves READ.
func TestRead(t *testing.T) {
	for _, n := range lengths {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPair(t, defaults())
			want := p.b.fill(3, n, 3)
			p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(1, n), RemoteAddr: p.b.addr(3), RKey: p.b.mem.RKey()})
			p.settle()
			p.a.requireSends(ok(1)...)
			require.Equal(t, cq.OpRDMARead, p.a.sends[0].Opcode)
			require.Equal(t, uint32(n), p.a.sends[0].ByteLen)
			require.Equal(t, want, p.a.snapshot(1, n))
			require.Zero(t, p.a.m.Stats().Retransmitted)
		})
	}
}

// TestAtomics proves both atomics: operands, results and the local byte order.
func TestAtomics(t *testing.T) {
	p := newPair(t, defaults())
	word := p.b.bytes(8, 8)
	binary.NativeEndian.PutUint64(word, 40)
	at := qp.SendWR{SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(8), RKey: p.b.mem.RKey()}
	steps := []struct {
		op                 qp.Op
		compare, swap, add uint64
		was, is            uint64
	}{
		{op: qp.OpFetchAdd, add: 2, was: 40, is: 42},
		{op: qp.OpCompareSwap, compare: 41, swap: 7, was: 42, is: 42},
		{op: qp.OpCompareSwap, compare: 42, swap: 1 << 60, was: 42, is: 1 << 60},
		{op: qp.OpFetchAdd, add: ^uint64(0), was: 1 << 60, is: 1<<60 - 1},
	}
	for i, s := range steps {
		wr := at
		wr.Op, wr.Compare, wr.Swap, wr.Add = s.op, s.compare, s.swap, s.add
		p.a.post(wr)
		p.settle()
		p.a.requireSends(ok(i + 1)...)
		require.Equal(t, s.was, binary.NativeEndian.Uint64(p.a.bytes(0, 8)), "step %d: original value", i)
		require.Equal(t, s.is, binary.NativeEndian.Uint64(word), "step %d: memory", i)
	}
}

// TestGather proves that messages are gathered from and scattered to pieces whose
// borders lie anywhere, also for READ.
func TestGather(t *testing.T) {
	p := newPair(t, defaults())
	want := p.a.fill(0, 5000, 4)
	p.b.postRecv(1, 0, 1)
	require.NoError(t, p.b.rq.Post(&qp.RecvWR{ID: 2, SGL: []qp.SGE{p.b.sge(100, 1), p.b.sge(200, 0), p.b.sge(300, 1500), p.b.sge(3000, 4000)}}))
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 1)})
	p.a.post(qp.SendWR{Op: qp.OpSend, SGL: []qp.SGE{p.a.sge(0, 1000), p.a.sge(1000, 47), p.a.sge(1047, 3953)}})
	p.settle()
	p.b.requireRecvs(ok(2)...)
	got := p.b.snapshot(100, 1)
	got = append(got, p.b.bytes(300, 1500)...)
	got = append(got, p.b.bytes(3000, 3499)...)
	require.Equal(t, want, got)
}

// TestInline proves that inline data is taken while posting.
func TestInline(t *testing.T) {
	p := newPair(t, defaults())
	want := p.a.fill(0, 100, 5)
	p.b.postRecv(1, 0, 100)
	p.a.post(qp.SendWR{Op: qp.OpSend, Flags: qp.Inline, SGE: p.a.sge(0, 100)})
	clear(p.a.bytes(0, 100))
	p.settle()
	require.Equal(t, want, p.b.snapshot(0, 100))
}

// TestUnsignaled proves that only signaled work completes, in order.
func TestUnsignaled(t *testing.T) {
	p := newPair(t, defaults())
	for i := range 10 {
		wr := qp.SendWR{ID: uint64(i), Op: qp.OpWrite, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
		if i%3 == 2 {
			wr.Flags = qp.Signaled
		}
		require.NoError(t, p.a.sq.Post(&wr, p.a))
	}
	p.settle()
	require.Len(t, p.a.sends, 3)
	for i, wc := range p.a.sends {
		require.Equal(t, uint64(i*3+2), wc.ID)
	}
	require.Zero(t, p.a.sq.Len())
}

// TestSolicited proves that only a message's last packet carries the SE bit.
func TestSolicited(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 3000)
	p.a.post(qp.SendWR{Op: qp.OpSend, Flags: qp.Solicited, SGE: p.a.sge(0, 3000)})
	pkts := p.a.drain()
	require.Len(t, pkts, 3)
	for i, pkt := range pkts {
		require.Equal(t, i == 2, pkt.Solicited)
		p.b.recv(pkt)
	}
	require.Equal(t, 1, p.b.solicited)
}

// TestPSNWrap proves that PSNs run over 2^24 inside messages of all kinds.
func TestPSNWrap(t *testing.T) {
	o := defaults()
	o.psnA = 0xfffffd
	p := newPair(t, o)
	n := 5*testMTU + 5
	want := p.b.fill(0, n, 6)
	sent := p.a.fill(100000, n, 7)
	p.b.postRecv(1, 200000, n)
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(100000, n)})
	p.settle()
	p.a.requireSends(ok(2)...)
	require.Equal(t, want, p.a.snapshot(0, n))
	require.Equal(t, sent, p.b.snapshot(200000, n))
}

// TestMSN proves R16: the MSN moves once per message, whatever the message is.
func TestMSN(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 100)
	remote := qp.SendWR{RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
	write, read, atomic := remote, remote, remote
	write.Op, write.SGE = qp.OpWrite, p.a.sge(0, 3*testMTU)
	read.Op, read.SGE = qp.OpRead, p.a.sge(0, 2*testMTU)
	atomic.Op, atomic.SGE = qp.OpFetchAdd, p.a.sge(0, 8)
	var msns []uint32
	p.lose = func(from *host, pkt *packet) bool {
		if pkt.Opcode.Is(bth.HasAETH) {
			msns = append(msns, pkt.AETH.MSN)
		}
		return false
	}
	for _, wr := range []qp.SendWR{write, read, atomic, {Op: qp.OpSend, SGE: p.a.sge(0, 10)}} {
		p.a.post(wr)
		p.settle()
	}
	require.Equal(t, []uint32{1, 2, 2, 3, 4}, msns, "WRITE, READ first and last, atomic, SEND")
}

// TestOneAckPerTurn proves that many requests of one turn are acknowledged once.
func TestOneAckPerTurn(t *testing.T) {
	p := newPair(t, defaults())
	for range 20 {
		p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	}
	for _, pkt := range p.a.drain() {
		p.b.recv(pkt)
	}
	acks := p.b.drain()
	require.Len(t, acks, 1)
	require.Equal(t, bth.PSN(119), acks[0].PSN)
	require.Equal(t, uint32(20), acks[0].AETH.MSN)
	p.a.recv(acks[0])
	p.a.requireSends(ok(20)...)
}

// TestReadLimit proves that no more READs are outstanding than the peer takes, and
// that work behind them waits in order.
func TestReadLimit(t *testing.T) {
	o := defaults()
	o.initiator = 2
	p := newPair(t, o)
	for range 4 {
		p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	}
	require.Len(t, p.a.drain(), 2)
	require.Equal(t, "READ/atomic limit reached", p.a.m.Why().String())
}

// TestFence proves R24: a fence waits for earlier READs and atomics, not for SENDs.
func TestFence(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 10)
	p.b.postRecv(2, 0, 10)
	p.b.postRecv(3, 0, 10)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.a.post(qp.SendWR{Op: qp.OpSend, Flags: qp.Fence, SGE: p.a.sge(0, 10)})
	require.Len(t, p.a.drain(), 2, "an unacknowledged SEND holds no fence up")
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 10), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpSend, Flags: qp.Fence, SGE: p.a.sge(0, 10)})
	require.Len(t, p.a.drain(), 1, "only the READ goes")
	require.Equal(t, "fence", p.a.m.Why().String())
}

// TestZeroLengthJunkKey proves C18: nothing is checked of a zero-length WRITE or
// READ, not even after its answer was lost.
func TestZeroLengthJunkKey(t *testing.T) {
	p := newPair(t, defaults())
	p.lose = loseOnce(1, func(from *host, _ *packet) bool { return from == p.b })
	p.a.post(qp.SendWR{Op: qp.OpWrite, RKey: 0xdeadbeef})
	p.a.post(qp.SendWR{Op: qp.OpRead, RKey: 0xdeadbeef})
	p.settle()
	p.a.requireSends(ok(2)...)
}
