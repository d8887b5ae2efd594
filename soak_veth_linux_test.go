package roce_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/ledger"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/internal/testwire"
	"github.com/rocinante-rdma/roce/link"
)

// TestSoakVeth lets connections come and go between two network namespaces for 10
// minutes, or 10 seconds in its short form, over a wire that loses one packet in a
// hundred. Each stage opens devices on another kind of link, udp, raw and xdp in turn,
// and closes them; after it the process holds what it held after the first three.
func TestSoakVeth(t *testing.T) {
	testenv.Need(t, testenv.Netns)
	seed := testenv.Seed(t)
	stages, stage := 9, time.Second
	if testenv.Full() {
		stages, stage = 60, 10*time.Second
	}
	w, err := testwire.New(netns.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	rules, err := fault.Parse("drop any p 0.01")
	require.NoError(t, err)
	w.Faults.SetSeed(seed)
	w.Faults.Add(rules...)

	var before footprint
	var rssBefore uint64
	var met churnCounts
	for n := range stages {
		l := vethLinks[n%len(vethLinks)]
		now := runVethStage(t, w, l.open, seed+uint64(n)<<32, stage)
		require.NotZero(t, now.stats.Retransmitted, "%s: the wire lost nothing", l.name)
		met.add(&now)
		debug.FreeOSMemory()
		after, rss := measure(), residentSet(t)
		t.Logf("stage %d, %s: %s, %d KiB resident; %d connections, %d operations, %d retransmissions",
			n, l.name, after, rss>>10, now.connections, now.operations, now.stats.Retransmitted)
		if n < len(vethLinks) {
			before, rssBefore = after, max(rss, rssBefore)
			continue
		}
		after.requireFlat(t, before, 256<<10)
		if !testenv.Race { // its own records grow
			require.LessOrEqual(t, rss, rssBefore+16<<20, "resident memory grows")
		}
	}
	t.Logf("%d connections, %d of them closed abruptly, %d operations; %d retransmissions, %d timeouts",
		met.connections, met.abrupt, met.operations, met.stats.Retransmitted, met.stats.Timeouts)
	require.NotZero(t, met.abrupt)
	if testenv.Full() {
		ledger.Append(t, ledger.Run{Test: "TestSoakVeth", Seed: seed, Executions: met.operations})
	}
}

// vethStage is two devices that run by themselves on a wire.
type vethStage struct {
	*testing.T
	hosts [2]*netns.Host
	devs  [2]*roce.Device

	mu  sync.Mutex
	met churnCounts
}

func (c *churnCounts) add(n *churnCounts) {
	c.connections += n.connections
	c.abrupt += n.abrupt
	c.rounds += n.rounds
	c.operations += n.operations
	addStats(&c.stats, n.stats)
}

// runVethStage returns what happened, and keeps nothing.
func runVethStage(t *testing.T, w *testwire.Wire, open func(*netns.Host) (link.Link, error), seed uint64, length time.Duration) churnCounts {
	t.Helper()
	s := newVethStage(t, w, open)
	s.run(seed, length)
	s.close()
	return s.met
}

func newVethStage(t *testing.T, w *testwire.Wire, open func(*netns.Host) (link.Link, error)) *vethStage {
	t.Helper()
	s := &vethStage{T: t, hosts: [2]*netns.Host{w.A, w.B}}
	for side, h := range s.hosts {
		require.NoError(t, h.Do(func() error {
			l, err := open(h)
			if err != nil {
				return err
			}
			s.devs[side], err = roce.Open(l)
			return err
		}))
	}
	return s
}

// run has connections for so long, several at once.
func (s *vethStage) run(seed uint64, length time.Duration) {
	const atOnce = 6
	ctx, cancel := context.WithTimeout(s.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for n := range atOnce {
		all.Go(func() {
			c := &churn{t: s.T, rand: rand.New(rand.NewPCG(seed, uint64(n))), devs: s.devs}
			c.do = [2]func(func() error) error{s.hosts[0].Do, s.hosts[1].Do}
			for ctx.Err() == nil {
				s.meet(c)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.met.add(&c.met)
		})
	}
	all.Wait()
}

// meet has one connection from its beginning to its end.
func (s *vethStage) meet(c *churn) {
	m := c.meet()
	for m.rounds > 0 {
		m.begin()
		for side := range m.ends {
			for e := &m.ends[side]; e.due(); {
				n, err := e.cq.Wait(s.Context(), m.wcs)
				require.NoError(s, err)
				m.take(e, m.wcs[:n])
			}
		}
		m.check()
	}
	m.part()
}

func (s *vethStage) close() {
	for _, dev := range s.devs {
		require.NoError(s, dev.Close())
	}
}

// residentSet is the memory of this process that is in RAM, in bytes.
func residentSet(t *testing.T) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseUint(strings.Fields(string(b))[1], 10, 64)
	require.NoError(t, err)
	return pages * uint64(os.Getpagesize())
}
