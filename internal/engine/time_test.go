package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/trace"
)

// interrupted is a queue whose owner is kept from running for a millisecond whenever
// it takes packets, as a busy system does.
type interrupted struct {
	link.Queue
	late  time.Duration
	taken clock.Time // when Recv last returned packets
}

func (q *interrupted) Now() clock.Time { return q.Queue.Now().Add(q.late) }

func (q *interrupted) Recv(rx []link.Rx) int {
	n := q.Queue.Recv(rx)
	if n > 0 {
		q.late += time.Millisecond
		q.taken = q.Now()
	}
	return n
}

type timeLog struct{ received []clock.Time }

func (l *timeLog) Packet(e *trace.Event) {
	if e.Dir == trace.In {
		l.received = append(l.received, e.Time)
	}
}

// A packet counts as received when the link was read, not when the turn began: what a
// peer sent meanwhile would else have been received before it was sent.
func TestNothingIsReceivedBeforeItWasSent(t *testing.T) {
	p := newPair(t)
	queue, log := &interrupted{Queue: p.b.shard.queue}, &timeLog{}
	p.b.shard.queue, p.b.shard.tap = queue, log
	require.NoError(t, p.qb.PostRecv(&qp.RecvWR{SGE: p.b.sge(0, 100)}))
	post(t, p.qa, qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 5)})
	p.run(t, p.a, 1)
	require.Equal(t, []clock.Time{queue.taken}, log.received)
}
