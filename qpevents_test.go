package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
)

// TestEstablishedInRTR proves that the passive end of a connection, in RTR, is told when
// the peer's first message comes.
func TestEstablishedInRTR(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{})
	require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
	peer := p.a.qp.Info()
	attr := roce.QPAttr{
		State: roce.StateInit, PKey: bth.DefaultPKey, Access: allRights, PathMTU: 1024, DestQPN: peer.QPN, DestAddr: peer.GID,
		RQPSN: bth.PSN(peer.PSN), MaxDestRdAtomic: 4, MinRNRTimer: 12,
	}
	require.NoError(t, p.b.qp.Modify(attr, roce.AttrState|roce.AttrPKey|roce.AttrAccess))
	p.b.recv(1, 0, 8)
	attr.State = roce.StateRTR
	require.NoError(t, p.b.qp.Modify(attr, roce.AttrState|roce.AttrPathMTU|roce.AttrDestQPN|roce.AttrAV|roce.AttrRQPSN|roce.AttrMaxDestRdAtomic|roce.AttrMinRNRTimer))
	require.Empty(t, events(p.b.dev))
	p.a.send(roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 8)}, roce.SendWR{Op: roce.OpWrite})
	require.NoError(t, p.wait(p.b, 1)[0].Err())
	p.settle()
	require.Equal(t, []roce.Event{{Kind: roce.EventCommEstablished, QP: p.b.qp}}, events(p.b.dev))
	require.Empty(t, events(p.a.dev))
}

// TestRefusedRequestsAreTold proves that a request for memory that the peer may not touch,
// and one that the queue pair does not permit, are told where they were refused.
func TestRefusedRequestsAreTold(t *testing.T) {
	p := newPair(t)
	p.a.send(roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RKey: 1})
	p.settle()
	got := events(p.b.dev)
	require.Equal(t, []roce.Event{{Kind: roce.EventAccessError, QP: p.b.qp}}, got)
	require.Equal(t, p.b.qp.String()+": local access violation work queue error", got[0].String())
	require.ErrorContains(t, p.b.qp.Err(), "R_Key")
	require.Empty(t, events(p.a.dev))

	p = newUnconnected(t, roce.QPConfig{Access: roce.AccessRemoteRead})
	require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
	require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
	p.a.send(roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: p.b.mr.Remote().Addr, RKey: p.b.mr.Remote().Key})
	p.settle()
	require.Equal(t, []roce.Event{{Kind: roce.EventRequestError, QP: p.b.qp}}, events(p.b.dev))
}

// TestOverflowIsTold proves that a CQ that lost completions and the queue pairs that fail
// with it are told.
func TestOverflowIsTold(t *testing.T) {
	p := newPair(t)
	cq, other := overflow(t, p.a.pd)
	p.settle()
	got := events(p.a.dev)
	require.Equal(t, []roce.Event{{Kind: roce.EventCQError, CQ: cq}, {Kind: roce.EventQPFatal, QP: other}}, got)
	require.Equal(t, cq.String()+": CQ error", got[0].String())
	require.Equal(t, other.String()+": local work queue catastrophic error", got[1].String())
}

// overflow makes a CQ and has a queue pair, in ERR, flush more than it holds. Another
// queue pair in INIT uses it too.
func overflow(t *testing.T, pd *roce.PD) (cq *roce.CQ, other *roce.QP) {
	t.Helper()
	cq, err := pd.Device().CreateCQ(1)
	require.NoError(t, err)
	cfg := roce.QPConfig{SendCQ: cq, SendDepth: 2, RecvDepth: 1}
	q, err := pd.CreateQP(cfg)
	require.NoError(t, err)
	other, err = pd.CreateQP(cfg)
	require.NoError(t, err)
	require.NoError(t, other.Modify(roce.QPAttr{State: roce.StateInit, PKey: bth.DefaultPKey}, roce.AttrState|roce.AttrPKey|roce.AttrAccess))
	require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState))
	_, err = q.PostSend(roce.SendWR{Op: roce.OpWrite}, roce.SendWR{Op: roce.OpWrite})
	require.NoError(t, err)
	return cq, other
}
