package congestion_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

const nanobits = 8_000_000_000 // per byte: bit/s times ns

// sender sends packets through a pacer and keeps what any window may be judged by.
type sender struct {
	pacer   congestion.Pacer
	rate    int64 // bit/s
	now     clock.Time
	sent    int64 // bytes
	allowed int64 // nanobits: the rate over the time so far
	lead    int64 // nanobits: the largest of sent - allowed in any window
	least   int64 // nanobits: the least of sent - allowed before a packet
	burst   int   // bytes: the most at one instant
}

func (s *sender) setRate(rate int64) {
	s.rate = rate
	s.pacer.SetRate(s.now, float64(rate))
}

func (s *sender) until(now clock.Time) {
	s.allowed += int64(now-s.now) * s.rate
	s.now = now
}

// wake sends all that may leave now.
func (s *sender) wake(size func() int) {
	burst := 0
	for s.pacer.Next(s.now) <= s.now {
		n := size()
		s.least = min(s.least, s.sent*nanobits-s.allowed)
		s.pacer.Spend(s.now, n)
		s.sent += int64(n)
		burst += n
		s.lead = max(s.lead, s.sent*nanobits-s.allowed-s.least)
	}
	s.burst = max(s.burst, burst)
}

// TestPacerWindows proves that with wake-ups that come late at random, and stalls, in any
// window of time no more leaves than the rate allows, one packet, and what the rate allows
// in the longest delay of a wake-up, of which no more than the credit counts; that no burst
// is larger than the credit and one packet; and that the mean rate is exact as long as no
// wake-up is later than the credit makes up for.
func TestPacerWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for _, rate := range []int64{10_000_000, 100_000_000, 1_000_000_007, 5_000_000_000, 40_000_000_000} {
		for _, size := range []int{82, 1_090, 4_170} {
			for _, stall := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
				s := sender{now: 12_345}
				s.setRate(rate)
				late := 50 * time.Microsecond
				for range 5_000 {
					s.wake(func() int { return size })
					at := s.pacer.Next(s.now).Add(rand50(r))
					if stall > 0 && r.IntN(100) == 0 {
						at, late = at.Add(stall), stall+50*time.Microsecond
					}
					s.until(at)
				}
				credit := int64(max(size, int(rate*50/8_000_000)))
				require.Equal(t, credit, int64(s.pacer.Credit()))
				gap := min(int64(late)*rate, (credit+1)*nanobits)
				require.LessOrEqual(t, s.lead, int64(size)*nanobits+gap, "%d bit/s, %d B, %v", rate, size, stall)
				require.LessOrEqual(t, s.burst, int(credit)+size)
				if stall == 0 {
					behind := s.allowed - s.sent*nanobits
					require.LessOrEqual(t, behind, gap, "%d bit/s, %d B", rate, size)
					require.Greater(t, behind, -int64(size+1)*nanobits)
				}
			}
		}
	}
}

func rand50(r *rand.Rand) time.Duration { return time.Duration(r.IntN(50_001)) }

// TestPacerExact proves that packet n of a pacer that is asked in time leaves in the very
// nanosecond in which n packets before it have had their time at the rate, whatever the
// rate: there is no drift.
func TestPacerExact(t *testing.T) {
	for _, rate := range []int64{1, 999_983, 10_000_000, 2_999_999_929, 39_999_999_979, 400_000_000_000} {
		const size = 1_090
		s := sender{}
		s.setRate(rate)
		packets := min(int64(100_000), 1_000_000*rate)
		for n := range packets {
			want := new(big.Int).Mul(big.NewInt(n*size), big.NewInt(nanobits))
			want.Add(want, big.NewInt(rate-1)).Div(want, big.NewInt(rate))
			if at := s.pacer.Next(s.now); int64(at) != want.Int64() {
				require.Equal(t, want.Int64(), int64(at), "packet %d at %d bit/s", n, rate)
			}
			s.until(s.pacer.Next(s.now))
			s.pacer.Spend(s.now, size)
		}
	}
}

// TestPacerRates proves with random rates, sizes, delays and changes of the rate: no
// window holds more than the rates allowed in it, the largest credit and packet; and with
// wake-ups in time nothing of what the rates allowed is lost.
func TestPacerRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.Int64Range(1_000_000, 400_000_000_000)
		sizes := rapid.IntRange(64, 4_200)
		var s sender
		s.setRate(rates.Draw(t, "rate"))
		punctual := rapid.Bool().Draw(t, "punctual")
		credit := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s.wake(func() int { return sizes.Draw(t, "size") })
			credit = max(credit, s.pacer.Credit())
			at := s.pacer.Next(s.now)
			if !punctual {
				at += clock.Time(rapid.Int64Range(0, 1_000_000).Draw(t, "late"))
			}
			if rapid.Bool().Draw(t, "change") {
				s.until(s.now + (at-s.now)/2)
				s.setRate(rates.Draw(t, "rate"))
				credit = max(credit, s.pacer.Credit())
				at = s.pacer.Next(s.now)
			}
			s.until(at)
		}
		require.LessOrEqual(t, s.lead, int64(credit+1+4_200)*nanobits)
		require.LessOrEqual(t, s.burst, credit+4_200)
		if punctual {
			require.LessOrEqual(t, s.allowed-s.sent*nanobits, s.rate, "more than a nanosecond was lost")
		}
	})
}

// TestPacerUnpaced proves that without a rate nothing waits nor counts, and that a pacer
// which gets its first rate lets one packet go at once.
func TestPacerUnpaced(t *testing.T) {
	var p congestion.Pacer
	for range 1_000 {
		require.Equal(t, clock.Time(7), p.Next(7))
		p.Spend(7, 1_000)
	}
	p.SetRate(1_000, 8e9)
	require.Equal(t, clock.Time(1_000), p.Next(1_000))
	p.Spend(1_000, 1_000)
	require.Equal(t, clock.Time(2_000), p.Next(1_000))
	p.SetRate(1_500, 4e9)
	require.Equal(t, clock.Time(2_500), p.Next(1_500), "half of the packet was left at half the rate")
	p.SetRate(1_600, 0)
	require.Equal(t, clock.Time(1_600), p.Next(1_600))
	p.SetRate(1_700, 8e9)
	require.Equal(t, clock.Time(1_700), p.Next(1_700), "debt was kept while nothing was paced")
}

// TestPacerSetRate proves that a rate is rounded to the nearest bit/s, that it is never so
// small that nothing would leave, and that credit which a lower rate does not allow is
// gone at once.
func TestPacerSetRate(t *testing.T) {
	for rate, wait := range map[float64]clock.Time{2.6: 8e9, 3.4: 8e9, 0.1: 24e9, 1e30: 1} {
		var p congestion.Pacer
		p.SetRate(0, rate)
		p.Spend(0, 3)
		require.Equal(t, wait, p.Next(0), "%v bit/s", rate)
	}
	var p congestion.Pacer
	p.SetRate(0, 40e9)
	p.Spend(0, 1_000)
	require.Equal(t, 250_000, p.Credit())
	require.Equal(t, clock.Time(1e6), p.Next(1e6))
	p.SetRate(1e6, 10e6)
	require.Equal(t, 1_000, p.Credit())
	p.Spend(1e6, 1_000)
	p.Spend(1e6, 1_000)
	require.Equal(t, clock.Time(1e6+800_000), p.Next(1e6))
}
