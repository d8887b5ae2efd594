package engine

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
)

// Paced queue pairs work on shards that run by themselves, in both directions, whoever leads:
// the waiters, pollers, or the background; and at rates for which leaders spin or sleep.
func TestPacedShardsRun(t *testing.T) {
	for name, reap := range map[string]func(s *side) int{
		"Wait": func(s *side) int {
			got, err := s.cq.Wait(testContext(t), make([]cq.WC, 8))
			if err != nil {
				t.Error(err)
			}
			return got
		},
		"Poll": func(s *side) int { return s.cq.Poll(make([]cq.WC, 8)) },
		"background": func(s *side) int {
			runtime.Gosched() // nothing here runs a turn
			return s.cq.ring.Poll(make([]cq.WC, 8))
		},
	} {
		for _, rate := range []float64{50e6, 2e9} {
			t.Run(fmt.Sprintf("%s, %g bit/s", name, rate), func(t *testing.T) {
				r := newRunning(t, Auto)
				r.qa, r.qb = r.a.qpWith(limited(t, rate)), r.b.qpWith(limited(t, rate))
				r.a.connect(r.qa, r.qb)
				r.b.connect(r.qb, r.qa)
				works := 8
				if testenv.Full() {
					works = 1000
				}
				var both sync.WaitGroup
				both.Go(func() { paceWrites(r.a, r.qa, r.b, works, reap) })
				both.Go(func() { paceWrites(r.b, r.qb, r.a, works, reap) })
				both.Wait()
				for _, q := range []*QP{r.qa, r.qb} {
					require.Equal(t, qp.StateRTS, q.State())
					require.Zero(t, q.Snapshot().Stats.Timeouts)
				}
			})
		}
	}
}

// paceWrites carries out WRITEs of 32 KiB, two at a time.
func paceWrites(s *side, q *QP, peer *side, works int, reap func(*side) int) {
	ctx := testContext(s.t)
	wr := qp.SendWR{
		Op: qp.OpWrite, SGE: s.sge(0, 1<<15), RemoteAddr: peer.region.Base(), RKey: peer.region.RKey(), Flags: qp.Signaled,
	}
	for posted, done := 0, 0; done < works && ctx.Err() == nil; {
		for ; posted < min(done+2, works); posted++ {
			if err := q.PostSend(&wr); err != nil {
				s.t.Error(err)
				return
			}
			q.Ring()
		}
		done += reap(s)
	}
	if ctx.Err() != nil {
		s.t.Errorf("%s: %v", s.link.Name(), ctx.Err())
	}
}
