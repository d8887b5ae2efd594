package flowsim

import (
	"math/rand/v2"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// flow is a sender, and the notification point of its receiver.
type flow struct {
	Flow
	rp    ecn.RP
	np    notifier
	first float64 // the rate it begins with, bit/s
	fixed bool    // as Config.FixedDepartures

	started bool
	next    instant // of its next packet, if the rate stays
	last    instant // up to when alpha is in the area

	// Since the last sample.
	delivered int64   // packets
	alphaArea float64 // integral of alpha, in picoseconds
}

func (f *flow) init(c *Config, like Flow, random *rand.PCG) {
	f.Flow, f.first, f.fixed = like, like.Rate, c.FixedDepartures
	if f.first == 0 {
		f.first = c.Line
	}
	f.rp.Init(c.Params, c.Line)
	f.np = newNotifier(c)
	f.next = instantOf(f.Start) + instant(random.Uint64()%uint64(spacing(c.Packet, f.first)+1))
	f.last = f.next
}

// rate is the present one, in bit/s.
func (f *flow) rate() float64 {
	if f.Off {
		return f.first
	}
	return f.rp.Rate()
}

func (f *flow) target() float64 {
	if f.Off {
		return f.first
	}
	return f.rp.Target()
}

// act is what the flow does at a time that it asked for: it sends a packet, or raises its
// rate by time alone. It reports whether it sends.
func (f *flow) act(now instant, bytes int) (sends bool) {
	if !f.started {
		f.begin(now)
	}
	if f.Off {
		f.next = now + spacing(bytes, f.first)
		return true
	}
	f.account(now)
	if now < f.next {
		before := f.rp.Rate()
		f.rp.Advance(now.clock())
		f.retime(now, before)
		return false
	}
	f.rp.Sent(now.clock(), bytes)
	f.next = now + spacing(bytes, f.rp.Rate())
	return true
}

func (f *flow) begin(now instant) {
	f.started = true
	if f.Rate != 0 && !f.Off {
		f.rp.Limit(now.clock(), f.Rate)
	}
}

// cnp is a notification.
func (f *flow) cnp(now instant) {
	if f.Off {
		return
	}
	f.account(now)
	before := f.rp.Rate()
	f.rp.CNP(now.clock())
	f.retime(now, before)
}

// retime moves the next packet after a change of the rate: what is left of the time to it
// is stretched or shrunk, as by a token bucket.
func (f *flow) retime(now instant, before float64) {
	if rate := f.rp.Rate(); rate != before && !f.fixed {
		f.next = now + instant(float64(f.next-now)*(before/rate))
	}
}

// wake is when the flow must act next. If its rate falls meanwhile that is too early,
// which it finds out then.
func (f *flow) wake() instant {
	if f.Off || f.fixed {
		return f.next
	}
	return min(f.next, due(f.rp.Deadline()))
}

// account adds alpha as it was since the last time to its area.
func (f *flow) account(now instant) {
	f.alphaArea += float64(float64(now-f.last) * f.rp.Alpha())
	f.last = now
}
