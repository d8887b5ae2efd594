package simnet_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
)

// diary runs a world full of bad luck and returns a hash of every step of every
// frame, bytes included, and the counters.
func diary(t *testing.T, seed uint64, opts ...simnet.LinkOption) (hash string, s simnet.Stats) {
	w, a, b := pair(seed, opts...)
	sum := sha256.New()
	w.OnFrame(func(e simnet.FrameEvent) {
		fmt.Fprintf(sum, "%v %+v\n", e, e.Meta)
		sum.Write(e.Frame)
	})
	ha, hb := join(t, w, a, b)
	ha.chatter(1)
	hb.chatter(2)
	w.Faults.Add(
		simnet.Randomly(simnet.Match{From: "a"}, simnet.Random{Loss: .05, Dup: .05, Reorder: .1, Corrupt: .02, CE: .1}),
		simnet.Randomly(simnet.Match{From: "b"}, simnet.Random{Loss: .2, Reorder: .3}),
	)
	require.NoError(t, w.Run(clock.Never))
	return fmt.Sprintf("%x", sum.Sum(nil)), w.Stats()
}

// chatter plans many packets, some at the same instant, that ask for an answer.
func (h *host) chatter(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	at := clock.Time(0)
	for psn := range bth.PSN(800) {
		at += clock.Time(r.IntN(3)) * 100
		h.plan = append(h.plan, shot{at, bth.Packet{
			Opcode: bth.RCSendOnly, PSN: psn, DestQP: h.qpn, AckReq: true,
		}, 4 * r.IntN(256)})
	}
}

// TestSameSeedSameRun: to the byte; and another seed gives another run.
func TestSameSeedSameRun(t *testing.T) {
	seed := testenv.Seed(t)
	for _, opts := range [][]simnet.LinkOption{
		nil,
		{simnet.Bandwidth(25e9), simnet.Queue(16)},
		{simnet.SuperFrames(8), simnet.Fragments()},
	} {
		first, stats := diary(t, seed, opts...)
		again, _ := diary(t, seed, opts...)
		other, _ := diary(t, seed+1, opts...)
		require.Equal(t, first, again)
		require.NotEqual(t, first, other)
		t.Logf("%v: %v", first[:16], stats)
	}
}

// TestConservation: every frame sent or duplicated is delivered or dropped, and the
// reasons of drops add up.
func TestConservation(t *testing.T) {
	_, s := diary(t, testenv.Seed(t), simnet.Bandwidth(1e9), simnet.Buffer(1500))
	require.Zero(t, s.InFlight(), "%v", s)
	var drops uint64
	for _, n := range s.Drops {
		drops += n
	}
	require.Equal(t, s.Steps[simnet.Dropped], drops)
	require.NotZero(t, s.Drops[simnet.ByFault])
	require.NotZero(t, s.Drops[simnet.PortFull])
	t.Log(s)
}

// TestSeeds: the seed of a link depends on the world's seed and the link's name,
// and on nothing else.
func TestSeeds(t *testing.T) {
	_, a, b := pair(7)
	w := simnet.New(7)
	b2, a2 := w.Link("b", addrB), w.Link("a", addrA)
	_, a3, _ := pair(8)
	require.Equal(t, a.Seed(), a2.Seed())
	require.Equal(t, b.Seed(), b2.Seed())
	require.NotEqual(t, a.Seed(), b.Seed())
	require.NotEqual(t, a.Seed(), a3.Seed())
}
