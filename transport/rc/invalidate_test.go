package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestSendInvalidate proves that a SEND with invalidate of any length arrives, that the
// receiver's completion names the key, and that the window is not bound any more.
func TestSendInvalidate(t *testing.T) {
	for _, n := range lengths {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPair(t, defaults())
			b := p.b.bind(64)
			want := p.a.fill(0, n, 1)
			p.b.postRecv(7, 0, n)
			var last *packet
			p.lose = func(from *host, pkt *packet) bool {
				if from == p.a {
					last = pkt
				}
				return false
			}
			p.a.post(qp.SendWR{ID: 5, Op: qp.OpSendInv, SGE: p.a.sge(0, n), RKey: b.RKey()})
			p.settle()
			require.Equal(t, cq.WC{ID: 5, Opcode: cq.OpSend, ByteLen: uint32(n), QPN: 0x11, SrcQP: 0x22}, p.a.sends[0])
			require.Equal(t, cq.WC{
				ID: 7, Opcode: cq.OpRecv, ByteLen: uint32(n), Flags: cq.WithInv, InvalidatedKey: uint32(b.RKey()), QPN: 0x22, SrcQP: 0x11,
			}, p.b.recvs[0])
			require.Equal(t, want, p.b.snapshot(0, n))
			require.False(t, p.b.isBound(b))
			require.Equal(t, map[bool]bth.Opcode{true: bth.RCSendOnlyInv, false: bth.RCSendLastInv}[n <= testMTU], last.Opcode)
			require.EqualValues(t, b.RKey(), last.IETH)
			require.Zero(t, p.a.m.Stats().Retransmitted)

			p.a.post(qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 8), RemoteAddr: b.Base(), RKey: b.RKey()})
			p.settle()
			p.a.requireSends(cq.StatusSuccess, cq.StatusRemoteAccess)
		})
	}
}

// TestSendInvalidateOnce proves that a key is invalidated once, whichever packet is lost:
// what was bound since is not touched by a duplicate.
func TestSendInvalidateOnce(t *testing.T) {
	for nth := range 6 {
		p := newPair(t, defaults())
		b := p.b.bind(64)
		p.b.postRecv(1, 0, 3000)
		p.lose = loseOnce(nth, func(*host, *packet) bool { return true })
		p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, 3000), RKey: b.RKey()})
		p.flow()
		next := mr.NewBinding(b.Window(), b.Region(), b.Base(), 64, windowRights)
		if len(p.b.recvs) > 0 {
			p.b.post(qp.SendWR{Op: qp.OpBindMW, Bind: next})
		}
		p.settle()
		p.a.requireSends(ok(1)...)
		p.b.requireRecvs(ok(1)...)
		require.Equal(t, len(p.b.sends) > 0, p.b.isBound(next))
		require.False(t, p.b.isBound(b))
	}
}

// TestInvalidateRefused proves 9.9.3, class J: a SEND that names what is no window of this
// connection invalidates nothing and ends it. The receive completes with an error, and
// the sender is told.
func TestInvalidateRefused(t *testing.T) {
	for name, key := range foreignKeys {
		for _, n := range []int{0, 8, 3000} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				p := newPair(t, defaults())
				b := p.b.bind(64)
				p.b.postRecv(1, 0, n)
				p.b.postRecv(2, 0, 10)
				p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, n), RKey: key(p.b, b)})
				p.a.post(qp.SendWR{Op: qp.OpSend})
				for _, pkt := range p.a.drain() {
					p.b.recv(pkt)
				}
				naks := p.b.drain()
				require.Len(t, naks, 1)
				require.Equal(t, bth.NAKRemoteAccess, naks[0].AETH.Syndrome)
				require.EqualValues(t, 100+max((n-1)/testMTU, 0), naks[0].PSN, "the packet that names the key")
				p.a.recv(naks[0])
				p.a.requireSends(cq.StatusRemoteAccess, cq.StatusFlushed)
				p.b.requireRecvs(cq.StatusRemoteInvalid, cq.StatusFlushed)
				f, _ := p.b.m.Failure()
				require.Equal(t, transport.RuleInvalidate, f.Rule)
				require.True(t, f.Remote)
				require.True(t, p.b.isBound(b))
			})
		}
	}
}

// TestInvalidateNotReady proves that a SEND that finds no receive invalidates nothing
// before it comes again.
func TestInvalidateNotReady(t *testing.T) {
	p := newPair(t, defaults())
	b := p.b.bind(64)
	p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, 8), RKey: b.RKey()})
	p.flow()
	require.True(t, p.b.isBound(b))
	p.b.postRecv(1, 0, 8)
	p.settle()
	p.a.requireSends(ok(1)...)
	require.False(t, p.b.isBound(b))
}

// TestInvalidateBehindRead proves 9.5: requests are executed in order, so a READ is
// answered by the key that a SEND behind it invalidates. The SEND is asked for again.
func TestInvalidateBehindRead(t *testing.T) {
	for _, n := range []int{8, 3000} {
		p := newPair(t, defaults())
		b := p.b.bind(5000)
		want := b.Region().Bytes()
		for i := range want {
			want[i] = byte(i * 3)
		}
		p.b.postRecv(1, 0, n)
		p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(10000, 5000), RemoteAddr: b.Base(), RKey: b.RKey()})
		p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, n), RKey: b.RKey()})
		var v transport.Verdict
		for _, pkt := range p.a.drain() { // all in one turn
			v = p.b.recv(pkt)
		}
		require.Equal(t, transport.RuleKeyInUse, v.Rule)
		require.True(t, p.b.isBound(b))
		answers := p.b.drain()
		require.Len(t, answers, 6, "READ data, then the NAK")
		require.Equal(t, bth.NAKSequence, answers[5].AETH.Syndrome)
		require.Equal(t, v.PSN, answers[5].PSN)
		for _, pkt := range answers {
			p.a.recv(pkt)
		}
		p.settle()
		p.a.requireSends(ok(2)...)
		require.Equal(t, want, p.a.snapshot(10000, 5000))
		require.False(t, p.b.isBound(b))
		require.EqualValues(t, 1, p.a.m.Stats().Retransmitted, "the packet that names the key")
	}
}

// TestInvalidateBehindEmptyRead proves that an empty READ, whose key means nothing, keeps
// nobody from invalidating that key.
func TestInvalidateBehindEmptyRead(t *testing.T) {
	p := newPair(t, defaults())
	b := p.b.bind(64)
	p.b.postRecv(1, 0, 8)
	p.a.post(qp.SendWR{Op: qp.OpRead, RKey: b.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, 8), RKey: b.RKey()})
	for _, pkt := range p.a.drain() {
		require.Equal(t, transport.Executed, p.b.recv(pkt).Action)
	}
	p.settle()
	p.a.requireSends(ok(2)...)
}

// TestDuplicateReadOfInvalidatedKey proves that a READ which comes again after it was
// answered, and after its key was invalidated, does no harm: adapters send such
// duplicates, and the peer has the answer or it would not have invalidated the key.
func TestDuplicateReadOfInvalidatedKey(t *testing.T) {
	for _, before := range []bool{true, false} {
		p := newPair(t, defaults())
		b := p.b.bind(3000)
		p.b.postRecv(1, 0, 8)
		p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 3000), RemoteAddr: b.Base(), RKey: b.RKey()})
		read := p.a.next()
		p.b.recv(read)
		p.flow()
		p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, 8), RKey: b.RKey()})
		send := p.a.next()
		if before {
			p.b.recv(read)
		}
		require.Equal(t, transport.Executed, p.b.recv(send).Action)
		if !before {
			require.Equal(t, transport.RuleForgotten, p.b.recv(read).Rule)
		}
		p.settle()
		p.a.requireSends(ok(2)...)
		p.b.requireRecvs(ok(1)...)
		require.False(t, p.b.isBound(b))
		require.Equal(t, qp.StateRTS, p.b.m.State())
	}
}

// TestInvalidatedMidway proves that a window taken away inside a message refuses the rest.
func TestInvalidatedMidway(t *testing.T) {
	for _, op := range []qp.Op{qp.OpWrite, qp.OpRead} {
		p := newPair(t, defaults())
		b := p.b.bind(5000)
		p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(0, 5000), RemoteAddr: b.Base(), RKey: b.RKey()})
		pkts := p.a.drain()
		p.b.recv(pkts[0])
		if op == qp.OpRead {
			p.a.recv(p.b.next())
		}
		p.b.post(qp.SendWR{Op: qp.OpLocalInv, RKey: b.RKey()})
		p.b.sends = nil
		naks := p.b.drain()
		if op == qp.OpWrite {
			require.Empty(t, naks)
			p.b.recv(pkts[1])
			naks = p.b.drain()
		}
		nak := naks[len(naks)-1]
		require.Equal(t, bth.NAKRemoteAccess, nak.AETH.Syndrome, op)
		p.a.recv(nak)
		p.a.requireSends(cq.StatusRemoteAccess)
	}
}
