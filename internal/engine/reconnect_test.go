package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// A queue pair that may have sent has another first PSN once it is reset, for its number
// stays. One that has not keeps its PSN: the peer may know it already.
func TestEachConnectionHasItsPSN(t *testing.T) {
	p := newPair(t)
	reset := func(q *QP) (before, after bth.PSN) {
		before = q.InitialPSN()
		require.NoError(t, q.Modify(&qp.Attr{State: qp.StateReset}, qp.MaskState, Paths{}))
		return before, q.InitialPSN()
	}
	before, after := reset(p.qa)
	require.NotEqual(t, before, after, "from RTS")

	p.qb.Fail()
	before, after = reset(p.qb)
	require.NotEqual(t, before, after, "from ERR")

	before, after = reset(p.qa)
	require.Equal(t, before, after, "from RESET")
	attr := qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: allAccess}
	require.NoError(t, p.qa.Modify(&attr, qp.MaskState|qp.MaskPKey|qp.MaskAccess, Paths{}))
	before, after = reset(p.qa)
	require.Equal(t, before, after, "from INIT")
}
