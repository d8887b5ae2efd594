package ecn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

const packet = 4_096 + 74 // bytes on the wire

func started(t require.TestingT, c ecn.Config) *ecn.Controller {
	control, err := ecn.New(c)
	require.NoError(t, err)
	control.Start(0, 4096)
	return control
}

// carry has a limited controller send packets as soon as it may from now to end, and
// returns the bytes.
func carry(c *ecn.Controller, now, end clock.Time) (bytes int) {
	for now < end && c.Rate().BitsPerSec > 0 {
		if next := c.NextSend(now); next > now {
			now = next
			continue
		}
		c.Sent(now, packet)
		bytes += packet
	}
	return bytes
}

// sleep is when a flow may send that sleeps for as long as it is told to.
func sleep(c *ecn.Controller, now clock.Time) clock.Time {
	for {
		next := c.NextSend(now)
		if next <= now {
			return now
		}
		now = next
	}
}

// TestLineRate proves that a controller at line rate has nothing wait, before the first
// CNP and after the last recovery.
func TestLineRate(t *testing.T) {
	c := started(t, ecn.Config{LineRate: 40 * gbps})
	atLine := congestion.Rate{Packets: 48, PathMTU: 4096, Line: 40 * gbps, Target: 40 * gbps}
	for range 1_000 {
		require.Equal(t, clock.Time(5), c.NextSend(5))
		c.Sent(5, packet)
	}
	require.Equal(t, atLine, c.Rate())

	c.CNP(1_000)
	rate := c.Rate()
	require.Equal(t, 20*gbps, rate.BitsPerSec)
	require.Equal(t, 40*gbps, rate.Target)
	require.Equal(t, 1., rate.Alpha)
	c.Sent(1_000, packet)
	require.Equal(t, clock.Time(1_000+packet*8/20), c.NextSend(1_000))

	require.Equal(t, clock.Time(2_000_000), c.NextSend(2_000_000))
	require.Equal(t, atLine, c.Rate())
}

// TestPaced proves that what a flow sends is what its rate allows, to the packet, while
// the rate falls and rises.
func TestPaced(t *testing.T) {
	c := started(t, ecn.Config{LineRate: 40 * gbps})
	var rp ecn.RP
	rp.Init(ecn.Paper(), 40*gbps)
	now, sent, allowed := clock.Time(0), 0, 0.
	for range 100 {
		c.CNP(now)
		rp.CNP(now)
		for end := now + 200_000; now < end; {
			next := min(rp.Deadline(), end)
			allowed += rp.Rate() * float64(next-now) / 8e9
			now = next
			rp.Advance(now)
		}
		sent += carry(c, now-200_000, now)
		require.InDelta(t, allowed, sent, 3*packet)
	}
	require.Less(t, allowed, 40*gbps/8*0.02*0.9, "the flow was hardly limited")
}

// TestRecovery proves that a packet which waits at the lowest rate does not sleep through
// the recovery: it may leave at 1 Mb/s after 33 ms, but the rate rises every 55 µs.
func TestRecovery(t *testing.T) {
	p := ecn.Paper()
	p.MinRate = 1 * mbps
	c := started(t, ecn.Config{Params: p, LineRate: 40 * gbps})
	for now := range clock.Time(1_000) {
		c.CNP(now)
	}
	require.Equal(t, 1*mbps, c.Rate().BitsPerSec)
	c.Sent(1_000, packet)
	// Four recoveries to 1 Mb/s, then targets of 41, 81, 121… Mb/s and halved gaps: the
	// 33 kbit are there within nine periods of 55 µs.
	next := c.NextSend(1_000)
	require.Greater(t, next, clock.Time(8*55_000))
	require.Less(t, next, clock.Time(12*55_000))
	require.Equal(t, next, c.NextSend(next), "woken early")
}

// TestByteEvent proves that a byte event raises the rate that the next packet is paced by.
func TestByteEvent(t *testing.T) {
	p := ecn.Paper()
	p.Bytes = packet
	c := started(t, ecn.Config{Params: p, LineRate: 40 * gbps})
	c.CNP(0)
	c.Sent(0, packet)
	require.Equal(t, 30*gbps, c.Rate().BitsPerSec)
	require.Equal(t, clock.Time(packet*8/30), c.NextSend(0))
}

// TestNextSend proves that NextSend is exact: a flow that sleeps until it says sends at the
// same instants as one that asks all the time.
func TestNextSend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		sleeper := started(t, ecn.Config{Params: p, LineRate: 10 * gbps})
		asker := started(t, ecn.Config{Params: p, LineRate: 10 * gbps})
		now := clock.Time(0)
		for range rapid.IntRange(1, 12).Draw(t, "CNPs") {
			now += clock.Time(rapid.Int64Range(0, 200_000).Draw(t, "pause"))
			for range rapid.IntRange(1, 20).Draw(t, "at once") {
				sleeper.CNP(now)
				asker.CNP(now)
				now += 4_000
			}
			for range rapid.IntRange(1, 4).Draw(t, "packets") {
				wake := sleep(sleeper, now)
				for step := (wake-now)/17 + 1; now < wake; now = min(now+step, wake) {
					require.Greater(t, asker.NextSend(now), now, "the sleeper overslept")
				}
				require.Equal(t, now, sleep(asker, now), "the sleeper was woken early")
				sleeper.Sent(now, packet)
				asker.Sent(now, packet)
			}
		}
		require.Equal(t, asker.Rate(), sleeper.Rate())
	})
}

// TestMeasured proves that a line rate that nobody knows is the largest at which the flow
// sent for a millisecond, and that neither idle time nor being limited lowers it.
func TestMeasured(t *testing.T) {
	c := started(t, ecn.Config{})
	require.Zero(t, c.Rate().Line)
	now := clock.Time(0)
	send := func(packets int, gap time.Duration) {
		for range packets {
			c.Sent(now, 1_000)
			now = now.Add(gap)
		}
	}
	send(1_001, 8*µs) // 1 Gb/s for 8 ms
	require.Equal(t, 1*gbps, c.Rate().Line)
	now = now.Add(time.Second)
	send(1_000, 16*µs)
	require.Equal(t, 1*gbps, c.Rate().Line)

	c.CNP(now)
	require.Equal(t, 0.5*gbps, c.Rate().BitsPerSec)
	require.Equal(t, 1*gbps, c.Rate().Target)
	send(10, 4*µs) // against the limit, as an engine never does
	c.NextSend(now.Add(time.Second))
	require.Zero(t, c.Rate().BitsPerSec)
	require.Equal(t, 1*gbps, c.Rate().Line)
	now = now.Add(time.Second)
	send(1_001, 4*µs)
	require.Equal(t, 2*gbps, c.Rate().Line)

	c.Start(now, 1024)
	require.Zero(t, c.Rate().Line, "a new connection may go another way")
}

// TestEarlyCNP proves what a CNP in the first millisecond reacts from: the rate so far; the
// lowest rate if nothing was sent; and that the next one does not forget it.
func TestEarlyCNP(t *testing.T) {
	c := started(t, ecn.Config{})
	for i := range clock.Time(11) {
		c.Sent(i*10_000, 1_000)
	}
	c.CNP(100_000)
	require.Equal(t, 0.8*gbps, c.Rate().Line)
	require.Equal(t, 0.4*gbps, c.Rate().BitsPerSec)
	c.NextSend(50_000_000)
	require.Zero(t, c.Rate().BitsPerSec)
	c.CNP(50_000_000)
	require.Equal(t, 0.4*gbps, c.Rate().BitsPerSec)

	c.Start(0, 4096)
	c.CNP(0)
	require.Equal(t, ecn.Paper().MinRate, c.Rate().BitsPerSec)
	require.Equal(t, clock.Time(1_000_000), c.NextSend(1_000_000))
	require.Zero(t, c.Rate().BitsPerSec)
	for i := range clock.Time(2_000) {
		c.Sent(2_000_000+i*1_000, 1_000)
	}
	require.Equal(t, 8*gbps, c.Rate().Line)
}

// TestBusyAfterQuiet proves that a flow which begins to send much only when the network is
// congested already is limited like any other: what it had sent before is not taken for all
// that the link carries.
func TestBusyAfterQuiet(t *testing.T) {
	c := started(t, ecn.Config{})
	now := clock.Time(0)
	for range 100 { // 1.6 Mb/s
		c.Sent(now, 200)
		now = now.Add(time.Millisecond)
	}
	for range 200 { // 8 Gb/s
		c.Sent(now, 1_000)
		now = now.Add(µs)
	}
	c.CNP(now)
	require.InEpsilon(t, 8*gbps, c.Rate().Line, 0.01)
	require.InEpsilon(t, 4*gbps, c.Rate().BitsPerSec, 0.01)
	c.NextSend(now.Add(100 * µs))
	require.NotZero(t, c.Rate().BitsPerSec, "it comes back by and by")
}

// TestPacedFromStart proves that MaxRate paces a flow that saw no CNP.
func TestPacedFromStart(t *testing.T) {
	p := ecn.Paper()
	p.MaxRate = 1 * gbps
	for _, line := range []float64{0, 40 * gbps} {
		c := started(t, ecn.Config{Params: p, LineRate: line})
		require.InDelta(t, 1_250_000, carry(c, 0, 10_000_000), packet)
		require.Equal(t, 1*gbps, c.Rate().BitsPerSec)
		c.Start(9_000_000, 4096)
		require.Equal(t, clock.Time(9_000_000), c.NextSend(9_000_000), "debt of an earlier connection")
	}
}

// TestWindowStays proves that the controller's window is the plain one's: losses halve it,
// CNPs do not.
func TestWindowStays(t *testing.T) {
	c := started(t, ecn.Config{LineRate: 40 * gbps})
	c.CNP(0)
	require.Equal(t, 48, c.Rate().Packets)
	c.Lost(0)
	require.Equal(t, 24, c.Rate().Packets)
	c.Acked(0, 24, 0)
	require.Equal(t, 25, c.Rate().Packets)
	require.Equal(t, uint64(1), c.Rate().LossesSoFar)
	c.Start(0, 4096)
	require.Equal(t, congestion.Rate{Packets: 48, PathMTU: 4096, Line: 40 * gbps, Target: 40 * gbps}, c.Rate())
}
