package ecn_test

import (
	"testing"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// BenchmarkController is what a packet costs: the question when it may leave, and the
// word that it left.
func BenchmarkController(b *testing.B) {
	b.Run("line-rate", func(b *testing.B) {
		c := started(b, ecn.Config{LineRate: 40 * gbps})
		now := clock.Time(0)
		for b.Loop() {
			now = c.NextSend(now + 100)
			c.Sent(now, 1_090)
		}
	})
	b.Run("limited", func(b *testing.B) {
		c := started(b, ecn.Config{LineRate: 40 * gbps})
		now, cnp := clock.Time(0), clock.Time(0)
		for b.Loop() {
			if now >= cnp {
				c.CNP(now)
				cnp = now + 400_000
			}
			now = c.NextSend(now + 218) // a packet's time at line rate
			c.Sent(now, 1_090)
		}
	})
}

// BenchmarkRP is what a packet costs without pacing.
func BenchmarkRP(b *testing.B) {
	b.Run("line-rate", func(b *testing.B) {
		var rp ecn.RP
		rp.Init(ecn.Paper(), 40*gbps)
		now := clock.Time(0)
		for b.Loop() {
			now += 100
			rp.Advance(now)
			rp.Sent(now, 1_090)
		}
	})
	b.Run("limited", func(b *testing.B) {
		var rp ecn.RP
		rp.Init(ecn.Paper(), 40*gbps)
		now, cnp := clock.Time(0), clock.Time(0)
		for b.Loop() {
			now += 500
			if now >= cnp {
				rp.CNP(now)
				cnp = now + 400_000
			}
			rp.Advance(now)
			rp.Sent(now, 1_090)
		}
	})
}
