package roce_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

const (
	// floodCNPs is how many CNPs come of each of three kinds.
	floodCNPs = 10_000
	// floodAhead is how many of each kind may be under way: no socket loses so few.
	floodAhead = 64
)

// TestForgedCNPs forges CNPs for a queue pair in its peer's name, as fast as they are taken:
// its rate never falls below the lowest, and comes back. Those from another host, and for a
// queue pair that does not exist, are counted and change nothing; and nothing at all
// changes for another queue pair of the same device, or the memory that is used.
func TestForgedCNPs(t *testing.T) {
	testenv.Need(t, testenv.Netns)
	seed := testenv.Seed(t)
	for _, l := range jamLinks {
		t.Run(l.name, func(t *testing.T) {
			j := newJam(t, seed, false, l.open, true)
			victim, beside := j.flows[0], j.newFlow(0, rand.New(rand.NewPCG(seed, 1)))
			j.flows = append(j.flows, beside)
			j.connect(roce.OpWrite)
			before, begun := measure(), time.Now()
			j.flood(victim)
			took := time.Since(begun)
			j.recover()
			after := measure()
			after.requireFlat(t, before, 1<<20)

			c := victim.source.dev.Counters()
			t.Logf("%.0f CNPs per second, down to %.1f Mb/s, %d operations until the line rate; %s",
				3*floodCNPs/took.Seconds(), victim.slowest/1e6, victim.steps, after)
			require.EqualValues(t, floodCNPs, c[roce.CounterRPCNPHandled])
			require.EqualValues(t, 2*floodCNPs, c[roce.CounterRPCNPIgnored])
			require.GreaterOrEqual(t, victim.slowest, jamParams().MinRate)
			require.Less(t, victim.slowest, jamLine)
			require.EqualValues(t, jamLine, beside.slowest, "another queue pair was slowed down")
			require.Equal(t, 1, beside.steps)
		})
	}
}

// flood sends CNPs to a flow's source, until all have been taken, while all flows take
// steps.
func (j *jam) flood(victim *flow) {
	peer, stranger := j.newForger(j.Receiver, victim.from), j.newForger(j.Senders[1], victim.from)
	defer peer.close()
	defer stranger.close()
	qpn := victim.source.qp.QPN()
	over := make(chan struct{})
	var flooding sync.WaitGroup
	flooding.Go(func() {
		defer close(over)
		for n := range floodCNPs {
			peer.cnp(qpn)
			stranger.cnp(qpn)
			peer.cnp(qpn ^ 1<<23)
			if (n+1)%floodAhead == 0 {
				victim.await(3 * (n + 1))
			}
		}
	})
	j.each(func(f *flow) {
		for {
			f.step(j)
			f.watch()
			select {
			case <-over:
				return
			default:
			}
		}
	})
	flooding.Wait()
}

// await waits until the source has seen so many CNPs.
func (f *flow) await(cnps int) {
	for {
		c := f.source.dev.Counters()
		if c[roce.CounterRPCNPHandled]+c[roce.CounterRPCNPIgnored] >= uint64(cnps) {
			return
		}
		runtime.Gosched()
	}
}
