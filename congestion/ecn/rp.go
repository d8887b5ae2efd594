package ecn

import (
	"github.com/rocinante-rdma/roce/clock"
)

// RP is the reaction point of one flow. The zero RP must be given its parameters by
// [RP.Init]. Times passed to its methods must not run backwards. It is not safe for
// concurrent use.
type RP struct {
	p    Params
	line float64 // bit/s, as told
	top  float64 // bit/s without congestion: line, or less if MaxRate says so

	reacting bool       // a CNP came and the rate has not come back; what follows holds
	now      clock.Time // to where it was advanced
	rate     float64    // Rc
	target   float64    // Rt
	alpha    float64    // at alphaAt
	alphaAt  clock.Time // of the last cut: periods of α count from here
	timerAt  clock.Time // of the next timer event
	notYet   clock.Time // CNPs before this one are not obeyed
	times    int        // Ts, timer events since the last cut
	fills    int        // Bs, byte events since the last cut
	sent     int64      // bytes since the last of them
}

// Init begins with a flow at line rate, in bit/s, about which nothing is known. The
// parameters must be valid.
func (r *RP) Init(p Params, lineRate float64) {
	*r = RP{p: p}
	r.SetLine(lineRate)
}

// SetLine changes the line rate, in bit/s.
func (r *RP) SetLine(lineRate float64) {
	r.line, r.top = lineRate, lineRate
	if most := r.p.MaxRate; most > 0 && (lineRate <= 0 || most < lineRate) {
		r.top = most
	}
	r.top = max(r.top, r.p.MinRate)
	r.rate, r.target = min(r.rate, r.top), min(r.target, r.top)
}

// Limit begins limiting at this rate in bit/s, as if the flow had come down to it long
// ago: the target is the same, α the initial one, the stages zero.
func (r *RP) Limit(now clock.Time, rate float64) {
	rate = min(max(rate, r.p.MinRate), r.top)
	r.reacting = true
	r.now, r.notYet = now, now
	r.rate, r.target = rate, rate
	r.alpha = r.p.InitialAlpha
	r.restart(now)
}

// CNP tells of a notification, and reports whether the rate was cut for it.
func (r *RP) CNP(now clock.Time) (cut bool) {
	r.Advance(now)
	switch {
	case !r.reacting && r.p.FirstRate > 0:
		r.Limit(now, r.p.FirstRate*r.top)
	case !r.reacting:
		r.Limit(now, r.top)
		r.cut(now)
	case now < r.notYet:
		return false
	default:
		r.cut(now)
	}
	r.notYet = now.Add(r.p.DecreaseInterval)
	return true
}

// cut lowers the rate by α/2 and raises α.
func (r *RP) cut(now clock.Time) {
	if r.p.ClampTarget || r.times > 0 {
		r.target = r.rate
	}
	alpha := r.Alpha()
	r.rate = max(r.rate*(1-min(alpha/2, r.p.MaxCut)), r.p.MinRate)
	r.alpha = float64((1-r.p.Gain)*alpha) + r.p.Gain
	r.restart(now)
}

// restart begins with everything that counts from a cut.
func (r *RP) restart(now clock.Time) {
	r.alphaAt, r.timerAt = now, now.Add(r.p.Timer)
	r.times, r.fills, r.sent = 0, 0, 0
}

// Advance does the timer events that are due. Every other method that is given the time
// does this first. Its work is bounded by how many it takes to come back to line rate,
// however long ago it was called: about line rate/AdditiveIncrease.
func (r *RP) Advance(now clock.Time) {
	if r.reacting {
		r.advance(now)
	}
}

func (r *RP) advance(now clock.Time) {
	r.now = max(r.now, now)
	for r.reacting && r.timerAt <= now {
		r.timerAt = r.timerAt.Add(r.p.Timer)
		r.event(&r.times)
	}
}

// Sent tells of bytes that were sent.
func (r *RP) Sent(now clock.Time, bytes int) {
	if r.reacting {
		r.count(now, bytes)
	}
}

// count adds to the byte counter and does the byte events that are due.
func (r *RP) count(now clock.Time, bytes int) {
	r.advance(now)
	if !r.reacting || r.p.Bytes == 0 {
		return
	}
	for r.sent += int64(bytes); r.reacting && r.sent >= r.p.Bytes; {
		r.sent -= r.p.Bytes
		r.event(&r.fills)
	}
}

// Deadline is when the rate rises next if nothing is sent; [clock.Never] if it is the line
// rate or MaxRate. (α needs no deadline: whoever asks for it gets it as it is by then.)
func (r *RP) Deadline() clock.Time {
	if !r.reacting {
		return clock.Never
	}
	return r.timerAt
}

// Limiting reports whether the flow must be paced at Rate.
func (r *RP) Limiting() bool { return r.reacting || r.p.MaxRate > 0 }

// Rate is the present rate Rc in bit/s.
func (r *RP) Rate() float64 {
	if !r.reacting {
		return r.top
	}
	return r.rate
}

// Target is the rate Rt in bit/s that fast recovery aims at.
func (r *RP) Target() float64 {
	if !r.reacting {
		return r.top
	}
	return r.target
}

// Line is the line rate in bit/s as it was told.
func (r *RP) Line() float64 { return r.line }

// Alpha is the estimate of congestion α at the time the flow was last advanced to: 0
// without congestion.
func (r *RP) Alpha() float64 {
	if !r.reacting {
		return 0
	}
	return decayed(r.alpha, r.p.Gain, int64(r.now.Sub(r.alphaAt)/r.p.AlphaPeriod))
}

// decayed is α after so many periods without a CNP: alpha·(1−gain)^periods. It depends on
// their number only, not on how they were counted up.
func decayed(alpha, gain float64, periods int64) float64 {
	keep := 1 - gain
	for ; periods > 0; periods >>= 1 {
		if periods&1 != 0 {
			alpha *= keep
		}
		keep *= keep
	}
	return alpha
}
