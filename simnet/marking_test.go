package simnet_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// onWire is the length on Ethernet of a packet of 64 bytes of payload.
const onWire = 38 + 20 + 8 + bth.BTHLen + 64 + wire.ICRCLen

// crowd has ten packets wait at a port that marks; the sender's link takes no time. What
// came is a list of PSNs, "*" with those that are marked.
func crowd(t *testing.T, seed uint64, red ecn.RED, e wire.ECN, opts ...simnet.LinkOption) (heard string, s simnet.Stats) {
	w := simnet.New(seed)
	a := w.Link("a", addrA)
	b := w.Link("b", addrB, append(opts, simnet.Bandwidth(1e9), simnet.Marking(red))...)
	ha, hb := join(t, w, a, b)
	ha.path.TrafficClass = uint8(e)
	ha.path.Prepare()
	for psn := range bth.PSN(10) {
		ha.shoot(0, bth.RCSendOnly, psn)
	}
	require.NoError(t, w.Run(clock.Never))
	require.Zero(t, w.Stats().InFlight())
	return hb.list(), w.Stats()
}

// TestMarkingEdges: behind the k-th of ten packets wait 9 − k. Up to Kmin none is marked,
// beyond Kmax all are, and at Kmax with a Pmax of 1, too.
func TestMarkingEdges(t *testing.T) {
	for _, c := range []struct {
		red  ecn.RED
		want string
	}{
		{ecn.RED{Kmin: 5 * onWire, Kmax: 5 * onWire, Pmax: 1}, "0* 1* 2* 3* 4 5 6 7 8 9"},
		{ecn.RED{Kmin: 5*onWire - 1, Kmax: 5*onWire - 1, Pmax: 1}, "0* 1* 2* 3* 4* 5 6 7 8 9"},
		{ecn.RED{Kmin: 5*onWire - 1, Kmax: 5 * onWire, Pmax: 1}, "0* 1* 2* 3* 4* 5 6 7 8 9"},
		{ecn.RED{Kmin: 0, Kmax: 0, Pmax: 1}, "0* 1* 2* 3* 4* 5* 6* 7* 8* 9"},
		{ecn.RED{Kmin: 9 * onWire, Kmax: 9 * onWire, Pmax: 1}, "0 1 2 3 4 5 6 7 8 9"},
	} {
		for _, e := range []wire.ECN{wire.ECT0, wire.ECT1} {
			heard, s := crowd(t, 1, c.red, e)
			require.Equal(t, c.want, heard, "%+v", c.red)
			require.EqualValues(t, strings.Count(c.want, "*"), s.Steps[simnet.Marked])
		}
	}
}

// TestMarkingProbability: at Kmax the share of marked packets is Pmax, half way to it
// half of that.
func TestMarkingProbability(t *testing.T) {
	seed := testenv.Seed(t)
	const runs, pmax = 1000, 0.5
	for behind, want := range map[int]float64{8: pmax, 6: pmax / 2, 4: 0} {
		marked := 0
		for i := range uint64(runs) {
			heard, _ := crowd(t, seed+i, ecn.RED{Kmin: 4 * onWire, Kmax: 8 * onWire, Pmax: pmax}, wire.ECT0)
			if strings.Contains(heard, fmt.Sprintf("%d*", 9-behind)) {
				marked++
			}
		}
		share := float64(marked) / runs
		t.Logf("%d packets behind: %.3f marked, %.3f expected", behind, share, want)
		require.InDelta(t, want, share, 5*0.5/31.6, "five standard deviations of %d throws", runs)
	}
}

// TestMarkingSpares: frames that are not ECN-capable, and those marked already, pass as
// they are, and are not counted.
func TestMarkingSpares(t *testing.T) {
	always := ecn.RED{Pmax: 1}
	heard, s := crowd(t, 1, always, wire.NotECT)
	require.Equal(t, "0 1 2 3 4 5 6 7 8 9", heard)
	require.Zero(t, s.Steps[simnet.Marked])
	heard, s = crowd(t, 1, always, wire.CE)
	require.Equal(t, "0* 1* 2* 3* 4* 5* 6* 7* 8* 9*", heard)
	require.Zero(t, s.Steps[simnet.Marked])
}

// TestMarkingCutsSuperFrames: packets with another mark are not joined.
func TestMarkingCutsSuperFrames(t *testing.T) {
	w := simnet.New(1)
	a := w.Link("a", addrA)
	b := w.Link("b", addrB, simnet.Bandwidth(1e9), simnet.SuperFrames(64), simnet.Buffer(1<<20),
		simnet.Marking(ecn.RED{Kmin: 5 * onWire, Kmax: 5 * onWire, Pmax: 1}))
	ha := &host{q: a.Queue(), path: pathTo(t, a, b), qpn: qpnB}
	for psn := range bth.PSN(10) {
		ha.shoot(0, bth.RCSendOnly, psn)
	}
	ha.Poll()
	require.NoError(t, w.Run(clock.Never))
	hb := &host{q: b.Queue()}
	hb.Poll() // all at once
	require.Equal(t, [][]string{{"0*", "1*", "2*", "3*"}, {"4", "5", "6", "7", "8", "9"}}, hb.frames)
}

// TestMarkingChangesNothingElse: frames arrive when and in the order in which they would
// without, and are dropped as then.
func TestMarkingChangesNothingElse(t *testing.T) {
	arrivals := func(opts ...simnet.LinkOption) (hash string, s simnet.Stats) {
		w := simnet.New(3)
		a := w.Link("a", addrA)
		b := w.Link("b", addrB, append(opts, simnet.Bandwidth(1e9), simnet.Buffer(3000))...)
		ha, hb := join(t, w, a, b)
		ha.chatter(1)
		hb.chatter(2)
		require.NoError(t, w.Run(clock.Never))
		heard := fmt.Sprint(hb.list(), hb.times, ha.list(), ha.times)
		return fmt.Sprintf("%x", sha256.Sum256([]byte(heard))), w.Stats()
	}
	without, stats := arrivals()
	require.NotZero(t, stats.Drops[simnet.PortFull])
	with, again := arrivals(simnet.Marking(ecn.RED{Kmin: 1 << 20, Kmax: 1 << 20, Pmax: 1}))
	require.Equal(t, without, with)
	require.Equal(t, stats, again)
}

// TestMarkingIsDeterministic: the same seed marks the same packets, another seed others.
func TestMarkingIsDeterministic(t *testing.T) {
	red := simnet.Marking(ecn.RED{Kmin: 100, Kmax: 3000, Pmax: .5})
	seed := testenv.Seed(t)
	first, stats := diary(t, seed, simnet.Bandwidth(1e9), red)
	again, _ := diary(t, seed, simnet.Bandwidth(1e9), red)
	other, _ := diary(t, seed+1, simnet.Bandwidth(1e9), red)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
	require.NotZero(t, stats.Steps[simnet.Marked])
}

// TestNoMarkingNoChange: worlds without Marking give the bytes they always gave.
func TestNoMarkingNoChange(t *testing.T) {
	w, a, b := pair(7, simnet.Bandwidth(25e9), simnet.Queue(16), simnet.Buffer(20_000))
	sum := sha256.New()
	w.OnFrame(func(e simnet.FrameEvent) {
		fmt.Fprintf(sum, "%v %+v\n", e, e.Meta)
		sum.Write(e.Frame)
	})
	ha, hb := join(t, w, a, b)
	ha.chatter(1)
	hb.chatter(2)
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, "6d9cf656426c27250a9eeb69156ff3005e64872927cf4eda02e969d2b9141a43", fmt.Sprintf("%x", sum.Sum(nil)))
}

// TestBacklog: what has come and not left yet, to the byte.
func TestBacklog(t *testing.T) {
	for _, opts := range [][]simnet.LinkOption{nil, {simnet.Marking(ecn.RED{Pmax: 1})}} {
		w := simnet.New(1)
		a := w.Link("a", addrA)
		b := w.Link("b", addrB, append(opts, simnet.Bandwidth(8e9))...) // a byte each nanosecond
		ha, _ := join(t, w, a, b)
		for psn := range bth.PSN(3) {
			ha.shoot(0, bth.RCSendOnly, psn)
		}
		require.Zero(t, b.Backlog())
		latency := clock.Time(simnet.DefaultLatency)
		for _, at := range []time.Duration{0, 1, onWire, 3*onWire - 1, 3 * onWire, time.Second} {
			require.NoError(t, w.Run(latency.Add(at)))
			require.Equal(t, max(0, 3*onWire-int(at)), b.Backlog(), "%v after they came", at)
			require.Zero(t, a.Backlog())
		}
	}
}
