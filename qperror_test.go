package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/transport"
)

// TestErrorsNameTheQueuePair proves that what is refused while posting says which
// queue pair refused it, what was wrong, and what to do.
func TestErrorsNameTheQueuePair(t *testing.T) {
	p := newUnconnected(t, roce.QPConfig{SendDepth: 1, MaxSGE: 2, MaxInline: 8})
	name := p.a.qp.String()
	post := func(wr roce.SendWR) error {
		_, err := p.a.qp.PostSend(wr)
		return err
	}
	says := func(err error, words ...string) {
		t.Helper()
		for _, w := range append(words, name) {
			require.ErrorContains(t, err, w)
		}
	}
	var state *roce.StateError
	err := post(roce.SendWR{Op: roce.OpSend})
	require.ErrorAs(t, err, &state)
	says(err, "state RESET", "to RTS for sends")

	require.NoError(t, p.a.qp.Connect(p.b.qp.Info()))
	says(p.a.qp.Connect(p.b.qp.Info()), "state RTS", "bring it to RESET first")
	piece := p.a.mr.SGE(0, 4)
	says(post(roce.SendWR{Op: roce.OpSend, SGL: []roce.SGE{piece, piece, piece}}), "3 pieces", "larger MaxSGE")
	says(post(roce.SendWR{Op: roce.OpSend, Flags: roce.Inline, SGE: p.a.mr.SGE(0, 9)}), "9 bytes", "larger MaxInline")
	require.NoError(t, post(roce.SendWR{Op: roce.OpSend}))
	err = post(roce.SendWR{Op: roce.OpSend})
	require.ErrorIs(t, err, roce.ErrQueueFull)
	says(err, "deeper queue")
}

// TestOverflowIsTheCause proves that the queue pairs of a CQ that overflowed tell so.
func TestOverflowIsTheCause(t *testing.T) {
	p := newPair(t)
	small, err := p.a.dev.CreateCQ(1)
	require.NoError(t, err)
	q, err := p.a.pd.CreateQP(roce.QPConfig{SendCQ: small})
	require.NoError(t, err)
	require.NoError(t, q.Connect(p.b.qp.Info()))
	require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState))
	require.ErrorIs(t, q.Err(), roce.ErrFlushed, "taken there by hand")
	require.NoError(t, q.Modify(roce.QPAttr{State: roce.StateReset}, roce.AttrState))

	far, err := p.b.pd.CreateQP(roce.QPConfig{SendCQ: p.b.cq})
	require.NoError(t, err)
	require.NoError(t, q.Connect(far.Info()))
	require.NoError(t, far.Connect(q.Info()))
	r := p.b.mr.Remote()
	write := roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr, RKey: r.Key}
	_, err = q.PostSend(write, write, write)
	require.NoError(t, err)
	p.settle()
	var e *roce.QPError
	require.ErrorAs(t, q.Err(), &e)
	require.Equal(t, transport.RuleCQOverflow, e.Rule)
	require.ErrorContains(t, e, "create the CQ as deep as")
}
