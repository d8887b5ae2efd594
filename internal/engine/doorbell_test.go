package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/qp"
)

// ringingGoal rings a bell at the last look of a leader that is about to sleep: it
// has found no bell, and still has the lock, so whoever rings cannot serve himself.
type ringingGoal struct{ ring func() }

func (g ringingGoal) reached() bool { g.ring(); return false }
func (g ringingGoal) hurry() *CQ    { return nil }
func (g ringingGoal) beforeSleep()  {}

func TestNoSleepOverALateBell(t *testing.T) {
	mustComeBack(t, func(r *running) {
		r.a.shard.park(ringingGoal{func() {
			require.NoError(t, r.qa.PostSend(&qp.SendWR{Op: qp.OpSend}))
			r.qa.Ring()
		}})
	})
}
