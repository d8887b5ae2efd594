package roce_test

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/ledger"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
)

// TestSoakDay lets connections come and go between two devices for 24 virtual hours, or
// 10 virtual minutes in its short form, on a network that loses one frame in a hundred.
// At every check all of them are closed, and memory, goroutines and descriptors are
// what they were at the first one that counts.
func TestSoakDay(t *testing.T) {
	const (
		atOnce = 16
		warmUp = 4 // checks until tables and rings have their size
	)
	seed := testenv.Seed(t)
	length, check := 10*time.Minute, time.Minute
	if testenv.Full() {
		length, check = 24*time.Hour, time.Hour
	}
	w := simnet.New(seed)
	w.Faults.Add(simnet.Randomly(simnet.Match{}, simnet.Random{Loss: 0.01}))
	c := &churn{t: t, rand: rand.New(rand.NewPCG(seed, 0))}
	for side, name := range []string{"a", "b"} {
		dev, err := roce.Open(w.Link(name, netip.AddrFrom4([4]byte{10, 0, 0, byte(side + 1)})), roce.Manual())
		require.NoError(t, err)
		w.Attach(dev)
		c.devs[side], c.do[side] = dev, func(f func() error) error { return f() }
	}
	var before footprint
	checks := int(length / check)
	for n := 1; n <= checks; n++ {
		day := &simulatedDay{churn: c, world: w, slots: make([]daySlot, atOnce)}
		day.run(check)
		after := measure()
		t.Logf("%v: %s; %d connections, %d of them closed abruptly, %d operations", time.Duration(w.Now()), after, c.met.connections, c.met.abrupt, c.met.operations)
		if n <= warmUp {
			before = after
			continue
		}
		after.requireFlat(t, before, 512<<10)
	}
	met := c.met
	t.Logf("%d rounds; %d retransmissions, %d timeouts", met.rounds, met.stats.Retransmitted, met.stats.Timeouts)
	require.Greater(t, met.connections, uint64(length/(30*time.Second)))
	require.NotZero(t, met.abrupt)
	require.NotZero(t, met.stats.Retransmitted)
	for _, dev := range c.devs {
		require.NoError(t, dev.Close())
	}
	runtime.KeepAlive(c)
	if testenv.Full() {
		ledger.Append(t, ledger.Run{Test: "TestSoakDay", Seed: seed, Executions: met.operations})
	}
}

// simulatedDay is connections that act once in a while, so that much time passes.
type simulatedDay struct {
	*churn
	world *simnet.World
	slots []daySlot
}

// daySlot is a connection, or none, and how long it rests.
type daySlot struct {
	m    *meeting
	rest time.Duration
	busy bool // a round is under way
}

// tick is how often somebody looks whether there is something to do.
const tick = 250 * time.Millisecond

// run lets time pass, and closes all connections in the end.
func (d *simulatedDay) run(length time.Duration) {
	end := d.world.Now().Add(length)
	for open := true; open; {
		require.NoError(d.t, d.world.Run(d.world.Now().Add(tick)))
		ending := d.world.Now() >= end
		open = false
		for i := range d.slots {
			d.act(&d.slots[i], ending)
			open = open || d.slots[i].m != nil
		}
		require.Less(d.t, d.world.Now(), end.Add(time.Hour), "connections do not end")
	}
}

// act does what is due for one connection.
func (d *simulatedDay) act(s *daySlot, ending bool) {
	if s.rest -= tick; s.rest > 0 && !ending {
		return
	}
	switch {
	case s.m == nil:
		if !ending {
			s.m = d.meet()
		}
		return
	case s.busy:
		for side := range s.m.ends {
			e := &s.m.ends[side]
			for n := e.cq.Poll(s.m.wcs); n > 0; n = e.cq.Poll(s.m.wcs) {
				s.m.take(e, s.m.wcs[:n])
			}
		}
		if s.m.ends[0].due() || s.m.ends[1].due() {
			return
		}
		s.m.check()
		s.busy = false
		s.rest = time.Duration(d.rand.IntN(2000)) * time.Millisecond
	case s.m.rounds > 0 && !ending:
		s.m.begin()
		s.busy = true
	default:
		s.m.part()
		s.m = nil
		s.rest = time.Duration(d.rand.IntN(5)) * time.Second
	}
}
