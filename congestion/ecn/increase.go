package ecn

// nearTop is at which part of the line rate the limiter is released: halving the gap to it
// again and again would take for ever.
const nearTop = 0.999

// event is a timer or byte event: it adds to its stage, and the rate rises by what the
// stages say.
func (r *RP) event(stage *int) {
	least, most := r.stages()
	*stage++
	if !r.p.StageBefore {
		least, most = r.stages()
	}
	r.increase(least, most)
}

// stages are the lesser and the greater of the timer's and the bytes' stage.
func (r *RP) stages() (least, most int) {
	if r.p.Bytes == 0 {
		return r.times, r.times
	}
	return min(r.times, r.fills), max(r.times, r.fills)
}

// increase halves the gap to the target (fast recovery); past fast recovery the target
// moves up before.
func (r *RP) increase(least, most int) {
	switch f := r.p.FastRecovery; {
	case most < f:
	case least > f:
		r.target += r.hyper(least - f)
	default:
		r.target += r.p.AdditiveIncrease
	}
	r.target = min(r.target, r.top)
	r.rate = (r.target + r.rate) / 2
	if r.target == r.top && r.rate >= r.top*nearTop {
		r.release()
	}
}

// hyper is how much hyper increase adds when both stages are past F by this many.
func (r *RP) hyper(past int) float64 {
	if r.p.HyperByStage {
		return float64(float64(past) * r.p.HyperIncrease)
	}
	return r.p.HyperIncrease
}

// release ends the reaction: the flow is back at line rate, and as if it was never
// congested.
func (r *RP) release() {
	*r = RP{p: r.p, line: r.line, top: r.top}
}
