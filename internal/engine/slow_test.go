package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
)

// slowShard is run by a processor that takes a millisecond for each turn, of a few frames.
type slowShard struct {
	*Shard
	world *simnet.World
	busy  clock.Time // until when
}

const slowFrames = 4 // per turn

func (s *slowShard) Poll() bool {
	if s.world.Now() < s.busy || !s.Shard.Poll() {
		return false
	}
	s.busy = s.world.Now().Add(time.Millisecond)
	return true
}

func (s *slowShard) NextDeadline() clock.Time {
	if s.world.Now() < s.busy {
		return s.busy
	}
	return s.Shard.NextDeadline()
}

// sippingQueue lends no more than a few frames in a turn.
type sippingQueue struct {
	link.Queue
	turn func() clock.Time // when the present turn may end
	last clock.Time
	lent int
}

func (q *sippingQueue) Recv(rx []link.Rx) int {
	if now := q.turn(); now != q.last {
		q.last, q.lent = now, 0
	}
	n := q.Queue.Recv(rx[:min(len(rx), slowFrames-q.lent)])
	q.lent += n
	return n
}

// R19: 128 requests of 4 KiB and more are posted at once to a responder that takes four
// packets in a millisecond. Slow is not dead: as long as it acknowledges something before the
// timeout is over, of 67 ms or of hardly more than that millisecond, nothing is sent again,
// though all of it takes many times as long.
func TestSlowResponderIsNotDead(t *testing.T) {
	for _, timeout := range []uint8{14, 8} {
		p := newLoosePair(t)
		p.b.shard.queue = &sippingQueue{Queue: p.b.shard.queue, turn: p.world.Now}
		p.world.Attach(p.a.shard)
		p.world.Attach(&slowShard{Shard: p.b.shard, world: p.world})
		q, err := p.a.shard.NewQP(QPConfig{PD: testPD, SendCQ: p.a.cq, RecvCQ: p.a.cq, SendDepth: 256, RecvDepth: 1, MaxSGE: 1})
		require.NoError(t, err)
		peer := p.b.qp()
		p.a.timeout = timeout
		p.a.connect(q, peer)
		p.b.connect(peer, q)
		const posted = 160
		for range posted {
			post(t, q, qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 4096), RemoteAddr: p.b.region.Base(), RKey: p.b.region.RKey()})
		}
		for _, wc := range p.run(t, p.a, posted) {
			require.NoError(t, wc.Err())
		}
		stats := q.Snapshot().Stats
		require.Greater(t, p.world.Now(), clock.Time(150*time.Millisecond))
		require.Zero(t, stats.Retransmitted)
		require.Zero(t, stats.Timeouts)
	}
}
