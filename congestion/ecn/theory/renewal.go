package theory

import "math"

// The renewal fixed point. A notification point answers a mark at once if its last CNP
// is an interval tau old. From one CNP to the next it takes
//
//	X = tau + W,  W exponential with rate lambda = -ln(1-p)·R
//
// for packets that come at a mean rate R and are marked with probability p each: what
// happens between two CNPs forgets what was before, a renewal process.
//
// The reaction point in such a cycle. Let r be the rate before the CNP. The CNP makes it
// the target and takes the part alpha/2 off the rate; then the timer counts m = ⌊X/T⌋
// events, of which the first F-1 halve the distance to the target (fast recovery) and
// each other first moves the target up by RAI. With n = max(0, m-F+1) of those,
//
//	rate(m) = r - r·(alpha/2)·2^-m + RAI·(n - 1 + 2^-n)
//
// since each of them makes the distance larger by RAI and then halves it, which leaves
// RAI·(1 - 2^-n). A flow stays where it is if a cycle ends where it began:
//
//	r·(alpha/2)·E[2^-m] = RAI·E[n - 1 + 2^-n].
//
// Its mean rate is the same expression with the mean over the cycle's time.
//
// Alpha moves by g(1-alpha) at a CNP and by -g·alpha at each of the ⌊X/K⌋ alpha periods
// that fit between two, so for small g it stays at 1/(1 + E⌊X/K⌋).
//
// The byte counter is left out: it takes a hundred times longer than the timer.

// RenewalAtRate is the renewal fixed point of flows with a mean rate, in bit/s.
func RenewalAtRate(f Flow, rate float64) (Point, error) { return model(renewal).atRate(f, rate) }

// RenewalAtMarking is the renewal fixed point of a flow whose packets are marked with a
// probability.
func RenewalAtMarking(f Flow, marking float64) (Point, error) {
	return model(renewal).atMarking(f, marking)
}

func renewal(f Flow, marking, rate float64) (excess, alpha, cnps float64) {
	c := cycle{f.Interval.Seconds(), -math.Log1p(-marking) * rate}
	step := f.Params.AdditiveIncrease / f.bits()
	atEnd := c.increases(c.lasts, f)
	whole := c.increases(c.remains, f)
	length := c.remains(0)

	alpha = 1 / (1 + c.sum(c.lasts, f.Params.AlphaPeriod.Seconds(), 1))
	before := (rate*length - step*whole.climbed) / (length - alpha/2*whole.halved)
	return before*alpha/2*atEnd.halved - step*atEnd.climbed, alpha, 1 / length
}

// cycle is the time X from one CNP to the next, in seconds.
type cycle struct{ interval, lambda float64 }

// lasts is the probability that X ≥ t.
func (c cycle) lasts(t float64) float64 {
	return math.Exp(-c.lambda * max(0, t-c.interval))
}

// remains is the mean of what is left of X after t, 0 if nothing: the integral of lasts
// from t on.
func (c cycle) remains(t float64) float64 {
	return max(0, c.interval-t) + c.lasts(t)/c.lambda
}

// sum adds up weight(j·period) for all j ≥ from. Once the interval is over the weights
// are a geometric series.
func (c cycle) sum(weight func(float64) float64, period float64, from int) (sum float64) {
	for j := from; ; j++ {
		t := float64(j) * period
		if t >= c.interval {
			return sum - weight(t)/math.Expm1(-c.lambda*period)
		}
		sum += weight(t)
	}
}

// increases are the means of 2^-m and of n - 1 + 2^-n.
type increases struct{ halved, climbed float64 }

// increases takes the means, with the weight lasts at the cycle's end, and with the
// weight remains over its time: E[h(m)] = h(0) + Σ (h(j) - h(j-1))·P(m ≥ j), and the
// steps of the two functions are -2^-j and, from the first event that climbs on, 1 - 2^-n.
func (c cycle) increases(weight func(float64) float64, f Flow) (mean increases) {
	period, first := f.Params.Timer.Seconds(), f.Params.FastRecovery // first to climb
	if f.Params.StageBefore {
		first++
	}
	mean.halved = weight(0)
	mean.climbed = c.sum(weight, period, first)
	for j, half := 1, 0.5; half > 1e-18; j, half = j+1, half/2 {
		mean.halved -= half * weight(float64(j)*period)
		mean.climbed -= half * weight(float64(first-1+j)*period)
	}
	return mean
}
