package rc_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// TestReceiveMemoryGone proves the answer when the posted receive's region is gone.
func TestReceiveMemoryGone(t *testing.T) {
	p := newPair(t, defaults())
	buf := make([]byte, 100)
	r, err := p.b.table.Register(pd, buf, mr.Address(buf), mr.LocalWrite)
	require.NoError(t, err)
	require.NoError(t, p.b.rq.Post(&qp.RecvWR{SGE: qp.SGE{Addr: r.Base(), Len: 100, LKey: r.LKey()}}))
	p.b.table.Deregister(r)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.settle()
	p.a.requireSends(cq.StatusRemoteOperation)
	p.b.requireRecvs(cq.StatusLocalProtection)
}

// TestRegionGoneMidway proves that a region closed inside a message refuses the
// rest: of a WRITE by a NAK at that packet, of a READ at the first missing PSN.
func TestRegionGoneMidway(t *testing.T) {
	setup := func(t *testing.T, op qp.Op) (*pair, *mr.Region) {
		p := newPair(t, defaults())
		buf := make([]byte, 8192)
		r, err := p.b.table.Register(pd, buf, mr.Address(buf), allRight)
		require.NoError(t, err)
		p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(0, 5000), RemoteAddr: r.Base(), RKey: r.RKey()})
		return p, r
	}
	t.Run("WRITE", func(t *testing.T) {
		p, r := setup(t, qp.OpWrite)
		pkts := p.a.drain()
		p.b.recv(pkts[0])
		p.b.table.Deregister(r)
		p.b.recv(pkts[1])
		nak := p.b.drain()
		require.Len(t, nak, 1)
		require.Equal(t, bth.NAKRemoteAccess, nak[0].AETH.Syndrome)
		require.Equal(t, bth.PSN(101), nak[0].PSN)
		p.a.recv(nak[0])
		p.a.requireSends(cq.StatusRemoteAccess)
	})
	t.Run("READ", func(t *testing.T) {
		p, r := setup(t, qp.OpRead)
		p.b.recv(p.a.drain()[0])
		p.a.recv(p.b.next())
		p.b.table.Deregister(r)
		require.False(t, p.b.m.Next(p.now, transport.ClassReadResponse.Mask(), new(rc.Out)), "the NAK is no READ response")
		nak := p.b.drain()
		require.Len(t, nak, 1)
		require.Equal(t, bth.NAKRemoteAccess, nak[0].AETH.Syndrome)
		require.Equal(t, bth.PSN(101), nak[0].PSN)
		p.a.recv(nak[0])
		p.a.requireSends(cq.StatusRemoteAccess)
	})
}

// TestRegionGoneWhileExecuted proves that a request whose region is closed by another
// goroutine, after its checks and before its execution, is carried out as checked:
// who closes a region waits for the turn under way.
func TestRegionGoneWhileExecuted(t *testing.T) {
	for _, op := range []qp.Op{qp.OpWrite, qp.OpFetchAdd, qp.OpCompareSwap} {
		t.Run(op.String(), func(t *testing.T) {
			p := newPair(t, defaults())
			buf := make([]byte, 8)
			r, err := p.b.table.Register(pd, buf, mr.Address(buf), allRight)
			require.NoError(t, err)
			p.b.resolved = func() { p.b.table.Deregister(r) }
			binary.NativeEndian.PutUint64(p.a.bytes(0, 8), 7)
			p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(0, 8), RemoteAddr: r.Base(), RKey: r.RKey(), Add: 7, Swap: 7})
			require.Equal(t, transport.Executed, p.b.recv(p.a.next()).Action)
			require.Equal(t, uint64(7), mr.LoadUint64(buf))
			p.settle()
			p.a.requireSends(cq.StatusSuccess)
		})
	}
}
