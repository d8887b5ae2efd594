package ecn_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// TestFirstCNP proves the way of the paper's set from line rate down and back: half the
// rate at the first CNP, halved gaps after it, and release within a thousandth.
func TestFirstCNP(t *testing.T) {
	f := newFlow(t, ecn.Paper()).free()
	f.sent(1_000_000_000).after(time.Second).free()

	f.cnp().goes(20_000, 40_000).alpha(1).limits(55 * µs)
	f.after(54_999*time.Nanosecond).goes(20_000, 40_000).alpha(1)
	f.after(time.Nanosecond).goes(30_000, 40_000).alpha(255. / 256).limits(55 * µs)
	f.after(55*µs).goes(35_000, 40_000)
	f.after(110*µs).goes(38_750, 40_000)
	f.after(4*55*µs).goes(39_921.875, 40_000).alpha(math.Pow(255./256, 8))
	f.after(55 * µs).free()

	f.cnp().goes(20_000, 40_000).alpha(1)
}

// TestIncreasePaper proves the three kinds of increase with the paper's set, F = 5: four
// recoveries, additive increase while one stage is past them, hyper increase by stage
// when both are past 5.
func TestIncreasePaper(t *testing.T) {
	f := newFlow(t, ecn.Paper()).at(10_000).cnp().goes(5_000, 10_000)
	f.after(55*µs).goes(7_500, 10_000)
	f.after(3*55*µs).goes(9_687.5, 10_000)
	f.after(55*µs).goes(9_863.75, 10_040)
	f.after(55*µs).goes(9_971.875, 10_080)

	f.sent(50_000_000).goes(10_237.87109375, 10_280) // five byte events: min(6, 5) = 5
	f.sent(10_000_000).goes(10_458.935546875, 10_680)
	f.after(55*µs).goes(10_769.4677734375, 11_080) // min(7, 6) = 6: i = 1
	f.sent(10_000_000).goes(11_324.73388671875, 11_880)
}

// TestIncreaseConnectX proves the same with ConnectX's set, F = 1 by the stages before an
// event: one recovery, then additive increase, then hyper increase, always by the same.
func TestIncreaseConnectX(t *testing.T) {
	p := ecn.ConnectX()
	p.InitialAlpha = 1 // for round figures
	f := newFlow(t, p).at(10_000).cnp().goes(5_000, 10_000)
	f.after(300*µs).goes(7_500, 10_000).limits(300 * µs)
	f.after(300*µs).goes(8_752.5, 10_005)
	f.sent(32767*64).goes(9_381.25, 10_010)       // stages 2 and 0
	f.sent(32767*64).goes(9_698.125, 10_015)      // 2 and 1
	f.sent(32767*64).goes(9_881.5625, 10_065)     // 2 and 2: past 1
	f.sent(32767*64).goes(9_998.28125, 10_115)    // 2 and 3
	f.after(300*µs).goes(10_081.640625, 10_165)   // 2 and 4
	f.cnp().goes(f.rp.Rate()/mbps, 10_081.640625) // the timer raised it: the target falls
	f.after(300 * µs).sent(1).limits(300 * µs)    // recovery
	require.Equal(t, 10_081.640625, f.rp.Target()/mbps)
}

// TestTimerOnly proves that without a byte counter the timer's stage counts for both, as
// in the NIC's model: with F = 2 two recoveries, one additive increase, hyper increase.
func TestTimerOnly(t *testing.T) {
	p := ecn.ConnectX()
	p.Bytes, p.FastRecovery, p.InitialAlpha = 0, 2, 1
	f := newFlow(t, p).at(10_000).cnp().sent(1<<30).goes(5_000, 10_000)
	f.after(600*µs).goes(8_750, 10_000)
	f.after(300*µs).goes(9_377.5, 10_005)
	f.after(300*µs).goes(9_716.25, 10_055)
	f.after(300*µs).goes(9_910.625, 10_105)
}

// TestAlpha proves that α starts at its initial value, falls by a step for every whole
// period without a CNP and rises by one with each CNP, from which the periods count anew.
func TestAlpha(t *testing.T) {
	const keep = 255. / 256
	f := newFlow(t, ecn.Paper()).at(10_000).alpha(1)
	f.after(100 * 55 * µs).alpha(math.Pow(keep, 100))
	before := math.Pow(keep, 100)
	rate := f.rp.Rate()
	f.after(50 * µs).cnp().alpha(before*keep + 1./256)
	require.InEpsilon(t, rate*(1-before/2), f.rp.Rate(), 1e-12)
	f.after(54 * µs).alpha(before*keep + 1./256)
	f.after(1 * µs).alpha((before*keep + 1./256) * keep)
}

// TestByteCounter proves that byte events come by bytes sent since the last cut or event,
// no matter in how large packets, and that a CNP starts the count again.
func TestByteCounter(t *testing.T) {
	f := newFlow(t, ecn.Paper()).at(10_000).cnp().goes(5_000, 10_000)
	for range 9_999 {
		f.sent(1_000)
	}
	f.sent(999).goes(5_000, 10_000).sent(1).goes(7_500, 10_000)
	f.sent(9_999_999).goes(7_500, 10_000)
	f.cnp().goes(3_750, 7_500)
	f.sent(9_999_999).goes(3_750, 7_500).sent(1).goes(5_625, 7_500)
	f.sent(30_000_000).goes(7_265.625, 7_500)
}

// TestTarget proves when a cut takes the target along: always in the paper's set; in
// ConnectX's only if a timer event raised the rate since the last cut.
func TestTarget(t *testing.T) {
	f := newFlow(t, ecn.Paper()).at(8_000)
	f.cnp().goes(4_000, 8_000).cnp().goes(2_000, 4_000)

	p := ecn.ConnectX()
	p.InitialAlpha = 1
	f = newFlow(t, p).at(8_000).cnp().goes(4_000, 8_000)
	f.sent(32767*64).goes(6_000, 8_000) // a byte event does not count
	f.after(4 * µs).cnp()
	require.Equal(t, 8_000., f.rp.Target()/mbps)
	f.after(300 * µs)
	rate := f.rp.Rate()
	f.cnp()
	require.Equal(t, rate, f.rp.Target())
}

// TestDecreaseInterval proves that a CNP less than the interval after a cut changes
// nothing, and the first one at its end is obeyed.
func TestDecreaseInterval(t *testing.T) {
	f := newFlow(t, ecn.ConnectX()).cnp()
	rate, target, deadline := f.rp.Rate(), f.rp.Target(), f.rp.Deadline()
	for range 3 {
		f.after(µs).ignoredCNP()
	}
	f.after(999*time.Nanosecond).ignoredCNP().goes(rate/mbps, target/mbps)
	require.Equal(t, deadline, f.rp.Deadline())
	f.after(time.Nanosecond).cnp()
	require.Less(t, f.rp.Rate(), rate)
}

// TestMaxCut proves that no cut takes a larger part than MaxCut.
func TestMaxCut(t *testing.T) {
	p := ecn.Paper()
	p.MaxCut = 0.25
	newFlow(t, p).cnp().goes(30_000, 40_000)
	p.MaxCut = 1
	newFlow(t, p).cnp().goes(20_000, 40_000)
}

// TestFirstRate proves that the first CNP sets rate and target to a part of the line
// rate where that is asked for, and the next one cuts.
func TestFirstRate(t *testing.T) {
	p := ecn.Paper()
	p.FirstRate = 0.25
	newFlow(t, p).cnp().goes(10_000, 10_000).alpha(1).cnp().goes(5_000, 10_000)
}

// TestMaxRate proves that MaxRate takes the line rate's place if it is less, and that the
// flow is limited by it from the start and after every recovery.
func TestMaxRate(t *testing.T) {
	p := ecn.Paper()
	p.MaxRate = 10 * gbps
	f := newFlow(t, p)
	require.True(t, f.rp.Limiting())
	f.goes(10_000, 10_000).alpha(0).cnp().goes(5_000, 10_000)
	f.after(time.Second).goes(10_000, 10_000).alpha(0)
	require.True(t, f.rp.Limiting())
	require.Equal(t, 40*gbps, f.rp.Line())

	p.MaxRate = 100 * gbps
	newFlow(t, p).goes(40_000, 40_000)

	var unknown ecn.RP
	unknown.Init(p, 0)
	require.Equal(t, 100*gbps, unknown.Rate())
}

// TestSetLine proves that a line rate which falls takes rate and target along, and one
// that rises gives them room.
func TestSetLine(t *testing.T) {
	f := newFlow(t, ecn.Paper()).cnp().goes(20_000, 40_000)
	f.rp.SetLine(10 * gbps)
	f.goes(10_000, 10_000).after(55 * µs)
	require.False(t, f.rp.Limiting())
	f.goes(10_000, 10_000).cnp().goes(5_000, 10_000)
	f.rp.SetLine(40 * gbps)
	f.after(time.Second).free()
}

// TestLimit proves that a flow can be set to rates between the lowest and line rate only.
func TestLimit(t *testing.T) {
	newFlow(t, ecn.Paper()).at(5_000).goes(5_000, 5_000).alpha(1).limits(55 * µs)
	newFlow(t, ecn.Paper()).at(0).goes(10, 10)
	newFlow(t, ecn.Paper()).at(50_000).goes(40_000, 40_000).after(55 * µs).free()
}

// TestFlood proves that CNPs without end take the rate to the lowest one and no further,
// and that it comes back to line rate by time alone: with the paper's set, whose target
// fell too, within the events that additive increase takes; with ConnectX's, whose target
// does not fall between two timer events, by halved gaps.
func TestFlood(t *testing.T) {
	for name, c := range map[string]struct {
		ecn.Params
		events int // of the timer until it is back
	}{
		"paper":    {ecn.Paper(), 4 + 40_000/40},
		"connectx": {ecn.ConnectX(), 10},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(t, c.Params)
			for range 20_000 {
				f.rp.CNP(f.now)
				require.GreaterOrEqual(t, f.rp.Rate(), c.MinRate)
				f.after(time.Microsecond)
			}
			require.Equal(t, c.MinRate, f.rp.Rate())
			require.LessOrEqual(t, f.rp.Alpha(), 1.)

			events := 0
			for ; f.rp.Limiting(); events++ {
				f.after(f.rp.Deadline().Sub(f.now))
				require.GreaterOrEqual(t, f.rp.Rate(), c.MinRate)
			}
			require.Equal(t, c.events, events)
			f.free()
		})
	}
}

// TestComesBack proves that a flow at the lowest rate, target too, comes back by time
// alone within the events that fast recovery, additive increase and ten halvings take.
func TestComesBack(t *testing.T) {
	for _, p := range []ecn.Params{ecn.Paper(), ecn.ConnectX()} {
		f := newFlow(t, p).at(p.MinRate / mbps)
		events := p.FastRecovery + int(40*gbps/p.AdditiveIncrease) + 10
		f.after(time.Duration(events) * p.Timer).free()
	}
}
