package engine

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
)

// watchedLink counts how often its queue is asked for packets: turns.
type watchedLink struct {
	*simnet.Link
	queue watchedQueue
}

type watchedQueue struct {
	link.Queue
	turns atomic.Int64
}

func (l *watchedLink) Queue() link.Queue { return &l.queue }

func (q *watchedQueue) Recv(rx []link.Rx) int {
	q.turns.Add(1)
	return q.Queue.Recv(rx)
}

// R08: a receiver that is never ready, and an RNR retry count of 7. The sender waits for as
// long as it takes without being busy: a few turns for each NAK, none in between. Closing
// ends the work, and returns.
func TestWaitingForAReceiverIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(1, simnet.RealTime())
		la := w.Link("a", netip.MustParseAddr("10.0.0.1"))
		watched := &watchedLink{Link: la}
		watched.queue.Queue = la.Queue()
		r := &running{a: newSide(t, watched, withMode(Auto)), b: newSide(t, w.Link("b", netip.MustParseAddr("10.0.0.2")), withMode(Auto))}
		r.qa, r.qb = r.a.qp(), r.b.qp()
		r.a.connect(r.qa, r.qb)
		r.b.connect(r.qb, r.qa)
		r.a.closeInTest = true
		post(t, r.qa, qp.SendWR{Op: qp.OpSend})
		time.Sleep(time.Second)
		began, from := r.qa.Snapshot().Stats.RNRWaits, watched.queue.turns.Load()
		time.Sleep(10 * time.Second)
		waits, turns := r.qa.Snapshot().Stats.RNRWaits-began, watched.queue.turns.Load()-from
		t.Logf("%d turns for %d waits", turns, waits)
		require.Greater(t, waits, uint64(10_000), "0.64 ms each")
		require.Less(t, turns, int64(8*waits))
		require.Equal(t, qp.StateRTS, r.qa.State())

		closed := time.Now()
		require.NoError(t, r.a.shard.Close())
		require.Less(t, time.Since(closed), time.Second)
		out := make([]cq.WC, 4)
		require.LessOrEqual(t, r.a.cq.Poll(out), 1)
	})
}
