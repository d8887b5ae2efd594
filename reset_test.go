package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// many is two devices with many connections between them. Completions of each side go to
// one CQ; the pair's own queue pairs stay idle.
type many struct {
	*pair
	near, far []*roce.QP
}

func newMany(t testing.TB, n int) *many {
	t.Helper()
	m := &many{pair: newUnconnected(t, roce.QPConfig{})}
	cqs := make(map[*end]*roce.CQ)
	for _, e := range []*end{m.a, m.b} {
		cq, err := e.dev.CreateCQ(8 * n)
		require.NoError(t, err)
		cqs[e] = cq
	}
	for range n {
		near, err := m.a.pd.CreateQP(roce.QPConfig{SendCQ: cqs[m.a]})
		require.NoError(t, err)
		far, err := m.b.pd.CreateQP(roce.QPConfig{SendCQ: cqs[m.b]})
		require.NoError(t, err)
		m.near, m.far = append(m.near, near), append(m.far, far)
	}
	m.a.cq, m.b.cq = cqs[m.a], cqs[m.b]
	m.connect()
	return m
}

// connect brings both sides of all connections from RESET to RTS, one side after the other.
func (m *many) connect() {
	m.t.Helper()
	for i := range m.near {
		require.NoError(m.t, m.near[i].Connect(m.far[i].Info()))
	}
	for i := range m.far {
		require.NoError(m.t, m.far[i].Connect(m.near[i].Info()))
	}
}

// statuses counts the completions of an end by their status.
func (e *end) statuses() map[roce.Status]int {
	count := make(map[roce.Status]int)
	out := make([]roce.WC, 64)
	for n := e.cq.Poll(out); n > 0; n = e.cq.Poll(out) {
		for _, wc := range out[:n] {
			count[wc.Status]++
		}
	}
	return count
}

// R30: 64 connections fail together, each by a message too long for its receive, with work of
// both directions under way; the application connects all of them anew at once, again and
// again. Everything completes, each queue pair tells its first cause, once; the next
// connections work, while strays of the old ones are still about.
func TestReconnectStorm(t *testing.T) {
	const conns, rounds = 64, 5
	m := newMany(t, conns)
	for range rounds {
		for i := range conns {
			_, err := m.far[i].PostRecv(roce.RecvWR{SGE: m.b.mr.SGE(0, 8)}, roce.RecvWR{SGE: m.b.mr.SGE(0, 8)})
			require.NoError(t, err)
			_, err = m.near[i].PostSend(
				roce.SendWR{Op: roce.OpSend, SGE: m.a.mr.SGE(0, 9), Flags: roce.Signaled}, roce.SendWR{Op: roce.OpSend, Flags: roce.Signaled})
			require.NoError(t, err)
			r := m.a.mr.Remote()
			_, err = m.far[i].PostSend(roce.SendWR{Op: roce.OpRead, SGE: m.b.mr.SGE(64, 3000), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled})
			require.NoError(t, err)
		}
		m.settle()
		near, far := m.a.statuses(), m.b.statuses()
		require.Equal(t, map[roce.Status]int{roce.StatusRemoteInvalid: conns, roce.StatusFlushed: conns}, near)
		require.Equal(t, conns, far[roce.StatusLocalLength])
		require.Equal(t, 2*conns, far[roce.StatusFlushed]+far[roce.StatusSuccess], "the other receive, and the READ")
		require.Empty(t, events(m.a.dev), "completions say it all")
		require.Empty(t, events(m.b.dev))
		for _, q := range append(m.near[:conns:conns], m.far...) {
			var cause *roce.QPError
			require.ErrorAs(t, q.Err(), &cause)
			require.NotErrorIs(t, cause, roce.ErrFlushed, "the first cause")
			require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
		}
		m.connect()
		for i := range conns {
			_, err := m.far[i].PostRecv(roce.RecvWR{SGE: m.b.mr.SGE(0, 9)})
			require.NoError(t, err)
			_, err = m.near[i].PostSend(roce.SendWR{Op: roce.OpSend, SGE: m.a.mr.SGE(0, 9), Flags: roce.Signaled})
			require.NoError(t, err)
		}
		m.settle()
		require.Equal(t, map[roce.Status]int{roce.StatusSuccess: conns}, m.a.statuses())
		require.Equal(t, map[roce.Status]int{roce.StatusSuccess: conns}, m.b.statuses())
		for _, q := range append(m.near[:conns:conns], m.far...) {
			require.NoError(t, q.Err())
			require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
		}
		m.connect()
	}
}

// C13: two queue pairs share a CQ. One fails, is reset and used again: the entries of the
// other are all there, in order, and the ones of the old life stay.
func TestResetLeavesTheNeighbourAlone(t *testing.T) {
	m := newMany(t, 2)
	post := func(q *roce.QP, ids ...uint64) {
		for _, id := range ids {
			_, err := q.PostSend(roce.SendWR{ID: id, Op: roce.OpWrite, Flags: roce.Signaled})
			require.NoError(t, err)
		}
	}
	for i := range 4 {
		_, err := m.near[0].PostRecv(roce.RecvWR{ID: uint64(10 + i)})
		require.NoError(t, err)
	}
	post(m.near[1], 1, 2)
	m.settle()
	require.NoError(t, m.near[0].Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState))
	post(m.near[1], 3)
	m.settle()
	for _, q := range []*roce.QP{m.near[0], m.far[0]} {
		require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))
	}
	require.NoError(t, m.near[0].Connect(m.far[0].Info()))
	require.NoError(t, m.far[0].Connect(m.near[0].Info()))
	post(m.near[0], 20)
	post(m.near[1], 4)
	m.settle()

	byQP := make(map[uint32][]uint64)
	for _, wc := range m.wait(m.a, 9) {
		require.Equal(t, wc.ID >= 10 && wc.ID < 20, wc.Status == roce.StatusFlushed, "work %d: %v", wc.ID, wc.Status)
		byQP[wc.QPN] = append(byQP[wc.QPN], wc.ID)
	}
	require.Equal(t, []uint64{1, 2, 3, 4}, byQP[m.near[1].QPN()])
	require.Equal(t, []uint64{10, 11, 12, 13, 20}, byQP[m.near[0].QPN()])
}
