package testwire

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/wire"
)

// ect is a packet that may be marked, bare one that may not.
var ect, bare = frameOf(paths[0], 1), frameOf(&wire.Path{Src: paths[0].Src, Dst: paths[0].Dst}, 2)

// perFrame makes the wire take a microsecond for each of the frames above.
var perFrame = float64(len(ect)+ethernetOverhead) * 8 * 1e6

func newEgress(t *testing.T, o EgressOptions) *Egress {
	t.Helper()
	e, err := NewEgress(o)
	require.NoError(t, err)
	return e
}

// leave takes what has been sent by now.
func leave(e *Egress, now clock.Time) (frames [][]byte) {
	for f, ok := e.Leave(now); ok; f, ok = e.Leave(now) {
		frames = append(frames, f)
	}
	return frames
}

// Packets leave in order, each a microsecond after the one before it or after it came,
// whenever one looks. The time that the wire was idle gives no credit.
func TestEgressKeepsTheRate(t *testing.T) {
	e := newEgress(t, EgressOptions{Rate: perFrame, Buffer: 1 << 20})
	require.Equal(t, clock.Never, e.Next())
	for psn := range bth.PSN(3) {
		e.Take(5000, frameOf(paths[0], 10+psn))
	}
	require.Equal(t, clock.Time(6000), e.Next())
	require.Empty(t, leave(e, 5999))
	require.Equal(t, "10", note(leave(e, 6000)...))
	require.Equal(t, clock.Time(7000), e.Next())
	require.Equal(t, "11 12", note(leave(e, 9999)...), "late, but as if in time")
	e.Take(20_000, frameOf(paths[0], 13))
	e.Take(20_400, frameOf(paths[0], 14))
	require.Equal(t, "13", note(leave(e, 21_000)...))
	require.Equal(t, "14", note(leave(e, 22_000)...))
	require.Equal(t, clock.Never, e.Next())
	c := e.Counts()
	require.EqualValues(t, 5, c.Forwarded)
	require.EqualValues(t, 5*(len(ect)+ethernetOverhead), c.Bytes)
}

// However the wire is fed and looked at, no more leaves than the rate gives.
func TestEgressNeverExceedsTheRate(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	e := newEgress(t, EgressOptions{Rate: perFrame, Buffer: 40 * len(ect)})
	var now clock.Time
	left := 0
	for range 100_000 {
		now += clock.Time(r.IntN(3000))
		for range r.IntN(6) {
			e.Take(now, ect)
		}
		left += len(leave(e, now))
		require.LessOrEqual(t, left, int(now/1000))
	}
	c := e.Counts()
	require.EqualValues(t, left, c.Forwarded)
	require.NotZero(t, c.Dropped)
	require.Greater(t, left, int(now/1000)*99/100, "a wire that always has something to send")
}

// The queue takes what its buffer has room for, and drops the rest (tail drop).
func TestEgressDropsTheTail(t *testing.T) {
	e := newEgress(t, EgressOptions{Rate: perFrame, Buffer: 3*len(ect) + 1})
	for psn := range bth.PSN(5) {
		e.Take(0, frameOf(paths[0], psn))
	}
	require.Equal(t, "0", note(leave(e, 1000)...))
	e.Take(1000, frameOf(paths[0], 5))
	e.Take(1000, frameOf(paths[0], 6))
	require.Equal(t, "1 2 5", note(leave(e, 9000)...))
	c := e.Counts()
	require.EqualValues(t, 4, c.Forwarded)
	require.EqualValues(t, 3, c.Dropped)
	require.Equal(t, 3*len(ect), c.MaxQueue)
	require.InDelta(t, float64(2+2+1+0)/4*float64(len(ect)), c.MeanQueue, 1e-9)
}

// What leaves is marked by the probability that belongs to the queue that it leaves behind:
// never at Kmin or below, always above Kmax, and between them as often as it should be.
func TestEgressMarksByRED(t *testing.T) {
	frame := len(ect)
	seed := testenv.Seed(t)
	red := &ecn.RED{Kmin: 10 * frame, Kmax: 30 * frame, Pmax: 0.2}
	for behind, p := range map[int]float64{0: 0, 10: 0, 11: 0.01, 20: 0.1, 30: 0.2, 31: 1, 40: 1} {
		const rounds = 20_000
		e := newEgress(t, EgressOptions{Rate: perFrame, Buffer: 100 * frame, RED: red, Seed: seed})
		marked, now := 0, clock.Time(0)
		for range rounds {
			for range behind + 1 - len(e.queue) {
				e.Take(now, ect)
			}
			now += 1000
			f, ok := e.Leave(now)
			require.True(t, ok)
			if q, _ := parsePacket(f); q.ecn() == wire.CE {
				marked++
			}
		}
		require.EqualValues(t, marked, e.Counts().Marked)
		sigma := math.Sqrt(rounds * p * (1 - p))
		require.InDelta(t, rounds*p, marked, 5*sigma, "%d packets behind", behind)
	}
}

// Only packets with ECT are marked: what has CE already, has none, or is no packet
// passes as it is. The packet that came is not touched.
func TestEgressMarksOnlyECT(t *testing.T) {
	always := &ecn.RED{Kmin: 0, Kmax: 0, Pmax: 1} // if anything is left behind
	e := newEgress(t, EgressOptions{Rate: perFrame, Buffer: 1 << 20, RED: always})
	before := bytes.Clone(ect)
	e.Take(0, ect)
	e.Take(0, ect)
	left := leave(e, 1e9)
	require.Len(t, left, 2)
	require.Equal(t, before, ect)
	require.NotEqual(t, before, left[0])
	require.Equal(t, before, left[1])
	for _, f := range [][]byte{left[0], bare, []byte("no packet")} {
		e.Take(1e9, f)
		e.Take(1e9, bare)
		require.Equal(t, [][]byte{f, bare}, leave(e, 2e9))
	}
	require.EqualValues(t, 1, e.Counts().Marked)
}

// Options that make no port are refused.
func TestEgressOptions(t *testing.T) {
	for want, o := range map[string]EgressOptions{
		"rate of 0":   {Buffer: 1},
		"rate of NaN": {Rate: math.NaN(), Buffer: 1},
		"buffer of 0": {Rate: 1},
		"Kmax":        {Rate: 1, Buffer: 1, RED: &ecn.RED{Kmin: 2, Kmax: 1, Pmax: 1}},
	} {
		_, err := NewEgress(o)
		require.ErrorContains(t, err, want)
	}
}
