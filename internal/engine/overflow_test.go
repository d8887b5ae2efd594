package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
)

// ready makes a queue pair in INIT with n receives posted.
func (s *side) ready(send, recv *CQ, n int) *QP {
	s.t.Helper()
	q, err := s.shard.NewQP(QPConfig{PD: testPD, SendCQ: send, RecvCQ: recv, SendDepth: 4, RecvDepth: 4, MaxSGE: 1})
	require.NoError(s.t, err)
	attr := qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: allAccess}
	require.NoError(s.t, q.Modify(&attr, qp.MaskState|qp.MaskPKey|qp.MaskAccess, Paths{}))
	for i := range n {
		require.NoError(s.t, q.PostRecv(&qp.RecvWR{ID: uint64(i)}))
	}
	return q
}

// A CQ that overflows takes its queue pairs to ERR. What that flushes may
// overflow another CQ, which takes its own along (IBTA vol. 1, 11.6.3.1).
func TestOverflowCascades(t *testing.T) {
	s := newPair(t).a
	first, second := s.shard.NewCQ(1, nil), s.shard.NewCQ(1, nil)
	origin := s.ready(first, first, 3)
	bridge := s.ready(first, second, 3)
	far := s.ready(second, second, 0)
	origin.Fail()
	require.True(t, second.ring.Overflown())
	require.Equal(t, qp.StateErr, bridge.State())
	require.Equal(t, qp.StateErr, far.State())
}

// An overflow is news for every waiter, though one is woken: who hears of it tells
// the next, also when there was nothing left to take.
func TestOverflowWakesOneWaiterAfterTheOther(t *testing.T) {
	s := newPair(t).a
	small := s.shard.NewCQ(1, nil)
	s.shard.waiters.Add(2) // as if they slept
	defer s.shard.waiters.Add(-2)
	s.ready(small, small, 3).Fail()
	var wc [1]cq.WC
	for _, left := range []int{1, 0} {
		require.Len(t, small.wake, 1)
		<-small.wake
		require.Equal(t, left, small.take(wc[:]))
	}
	require.Len(t, small.wake, 1)
	<-small.wake
}
