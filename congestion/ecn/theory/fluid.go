package theory

import "math"

// The published fluid model, with its own letters: tau the CNP interval, R the rate in
// packets per second, p the marking. In a window of tau a packet is marked, and a CNP
// comes at its end, with probability
//
//	a = 1 - (1-p)^(tau·R).
//
// Events of the byte counter (every B packets) and of the timer (every T) come, and
// those beyond fast recovery, at
//
//	R·b, b = p/((1-p)^-B - 1)       R·c, c = (1-p)^(F·B)·b
//	R·d, d = p/((1-p)^-(T·R) - 1)   R·e, e = (1-p)^(F·T·R)·d
//
// so that rate, target and alpha change by
//
//	dR/dt = -R·alpha/(2·tau)·a + (target-R)/2·R·(b+d)
//	dtarget/dt = -(target-R)/tau·a + RAI·R·(c+e)
//	dalpha/dt = g/K·(1 - (1-p)^(K·R) - alpha)
//
// and nothing changes where alpha = 1 - (1-p)^(K·R) and a²·alpha = tau²·RAI·R·(b+d)·(c+e).

// FluidAtRate is the fixed point of the published model for flows with a mean rate, in
// bit/s.
func FluidAtRate(f Flow, rate float64) (Point, error) { return model(fluid).atRate(f, rate) }

// FluidAtMarking is the fixed point of the published model for a flow whose packets are
// marked with a probability.
func FluidAtMarking(f Flow, marking float64) (Point, error) {
	return model(fluid).atMarking(f, marking)
}

func fluid(f Flow, marking, rate float64) (excess, alpha, cnps float64) {
	tau := f.Interval.Seconds()
	d := f.drive(marking, rate)
	step := f.Params.AdditiveIncrease / f.bits()
	return d.cnp*d.cnp*d.alpha - tau*tau*step*rate*d.increases*d.climbs, d.alpha, d.cnp / tau
}

// drive is what marking does to a flow.
type drive struct {
	cnp       float64 // a
	alpha     float64 // what alpha moves to
	increases float64 // b + d, per packet
	climbs    float64 // c + e, per packet
}

func (f Flow) drive(marking, rate float64) drive {
	p := f.Params
	unmarked := math.Log1p(-marking)
	// events are those per packet, all and beyond fast recovery, if one takes so many
	// packets.
	events := func(packets float64) (all, beyond float64) {
		if marking == 0 {
			return 1 / packets, 1 / packets
		}
		all = marking / math.Expm1(-packets*unmarked)
		return all, math.Exp(float64(p.FastRecovery)*packets*unmarked) * all
	}
	b, c := events(float64(p.Bytes) / float64(f.Packet))
	d, e := events(p.Timer.Seconds() * rate)
	return drive{
		cnp:       -math.Expm1(unmarked * f.Interval.Seconds() * rate),
		alpha:     -math.Expm1(unmarked * p.AlphaPeriod.Seconds() * rate),
		increases: b + d,
		climbs:    c + e,
	}
}
