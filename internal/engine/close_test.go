package engine

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
)

// bubblePair is two sides that run by themselves in a synctest bubble.
func bubblePair(t *testing.T) (w *simnet.World, r *running) {
	w = simnet.New(1, simnet.RealTime())
	r = &running{
		a: newSide(t, w.Link("a", netip.MustParseAddr("10.0.0.1")), withMode(Auto)),
		b: newSide(t, w.Link("b", netip.MustParseAddr("10.0.0.2")), withMode(Auto)),
	}
	r.qa, r.qb = r.a.qp(), r.b.qp()
	r.a.connect(r.qa, r.qb)
	r.b.connect(r.qb, r.qa)
	return w, r
}

// The acknowledgement of the last message is lost, and its sender closes at once:
// the peer's retransmission still finds somebody to answer it.
func TestClosingShardRepeatsItsLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := bubblePair(t)
		r.b.closeInTest = true
		lost := simnet.Drop(simnet.Match{From: "b", Op: new(bth.RCAcknowledge), Nth: 1})
		w.Faults.Add(lost)
		require.NoError(t, r.qb.PostRecv(&qp.RecvWR{SGE: r.b.sge(0, 64)}))
		post(t, r.qa, qp.SendWR{Op: qp.OpSend, SGE: r.a.sge(0, 64)})
		_, err := r.b.wait(t.Context(), 1)
		require.NoError(t, err)

		began := time.Now()
		require.NoError(t, r.b.shard.Close())
		require.LessOrEqual(t, time.Since(began), linger)
		require.Equal(t, 1, w.Faults.Hits(lost))
		wcs, err := r.a.wait(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, cq.StatusSuccess, wcs[0].Status)
	})
}

// A peer that goes on talking cannot keep a shard from closing.
func TestLingeringIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := bubblePair(t)
		r.b.closeInTest = true
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for r.qa.State() == qp.StateRTS {
				_ = r.qa.PostSend(&qp.SendWR{Op: qp.OpWrite, Flags: qp.Signaled})
				r.qa.Ring()
				_, _ = r.a.cq.Wait(t.Context(), make([]cq.WC, 8))
			}
		}()
		time.Sleep(time.Millisecond)
		began := time.Now()
		require.NoError(t, r.b.shard.Close())
		require.LessOrEqual(t, time.Since(began), linger+time.Millisecond)
		<-stop
	})
}

// Whoever has its message may close the queue pair at once: the acknowledgement
// leaves before.
func TestDestroyingSendsWhatIsOwed(t *testing.T) {
	for name, end := range map[string]func(q *QP){"destroy": (*QP).Destroy, "fail": (*QP).Fail} {
		synctest.Test(t, func(t *testing.T) {
			_, r := bubblePair(t)
			require.NoError(t, r.qb.PostRecv(&qp.RecvWR{SGE: r.b.sge(0, 64)}))
			post(t, r.qa, qp.SendWR{Op: qp.OpSend, SGE: r.a.sge(0, 64)})
			_, err := r.b.wait(t.Context(), 1)
			require.NoError(t, err)
			end(r.qb)
			wcs, err := r.a.wait(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, cq.StatusSuccess, wcs[0].Status, name)
		})
	}
}

// Who answered nothing does not linger.
func TestIdleShardClosesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := bubblePair(t)
		r.b.closeInTest = true
		began := time.Now()
		require.NoError(t, r.b.shard.Close())
		require.Zero(t, time.Since(began))
	})
}

// closedQueue fails the test if the link is used after it was closed.
type closedQueue struct {
	link.Queue
	t      *testing.T
	closed bool
}

func (q *closedQueue) Room() int {
	require.False(q.t, q.closed)
	return q.Queue.Room()
}

func (q *closedQueue) Flush() (int, error) {
	require.False(q.t, q.closed)
	return q.Queue.Flush()
}

// A queue pair that outlives its shard leaves the closed link alone.
func TestNothingIsSentAfterClose(t *testing.T) {
	p := newLoosePair(t)
	queue := &closedQueue{Queue: p.a.shard.queue, t: t}
	p.a.shard.queue, p.a.closeInTest = queue, true
	post(t, p.qa, qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 5)})
	require.NoError(t, p.a.shard.Close())
	queue.closed = true
	post(t, p.qa, qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 5)})
	p.qa.Fail()
	p.qa.Destroy()
}
