package ecn

import "time"

// Params are a reaction point's parameters. Every field's comment has the name that NICs
// give it and the range that [Params.Validate] allows. Rates are in bit/s.
type Params struct {
	// Gain is g, the weight of one period in α. dce_tcp_g, there 1024·(1 − g).
	// More than 0, up to 1.
	Gain float64
	// AlphaPeriod is after how long without a CNP α falls by a step. dce_tcp_rtt.
	// 1 µs to 1 s.
	AlphaPeriod time.Duration
	// InitialAlpha is α when the limiter starts. initial_alpha_value, there 1024·α.
	// 0 to 1.
	InitialAlpha float64

	// Timer is the time between two timer events. rpg_time_reset. 1 µs to 1 s.
	Timer time.Duration
	// Bytes is how much is sent between two byte events. rpg_byte_reset. 0: there are no
	// byte events, and stages are the timer's alone; or 64 B to 1 TB.
	Bytes int64
	// FastRecovery is F, the stage at which fast recovery ends. rpg_threshold. 1 to 31.
	FastRecovery int
	// StageBefore judges an event by the stages before it (F fast recoveries), else by
	// those with it (F − 1). NICs have no name for it.
	StageBefore bool
	// AdditiveIncrease is RAI, what an event after fast recovery adds to the target.
	// rpg_ai_rate. 1 Mb/s to 1 Tb/s.
	AdditiveIncrease float64
	// HyperIncrease is RHAI, the same when both stages are past F. rpg_hai_rate. 1 Mb/s
	// to 1 Tb/s.
	HyperIncrease float64
	// HyperByStage adds i·RHAI, where i is by how much both stages are past F (the paper),
	// else RHAI alone (NICs).
	HyperByStage bool

	// MinRate is what no cut goes below. rpg_min_rate. 1 Mb/s to 1 Tb/s.
	MinRate float64
	// MaxRate is what the flow may send without congestion, if that is less than the line
	// rate: it is then paced from its start. rpg_max_rate. 0: the line rate; or MinRate to
	// 10 Tb/s.
	MaxRate float64

	// DecreaseInterval is how long after a cut CNPs are not obeyed.
	// rate_reduce_monitor_period. 0: every one cuts; up to 1 s.
	DecreaseInterval time.Duration
	// MaxCut is the largest part of the rate that one cut takes. rpg_min_dec_fac, there
	// the percentage that stays. More than 0, up to 1.
	MaxCut float64
	// ClampTarget has the target fall to the rate at every cut (the paper), else only if
	// there was a timer event since the last cut (ConnectX). clamp_tgt_rate.
	ClampTarget bool
	// FirstRate is the part of the line rate to begin with at the first CNP.
	// rate_to_set_on_first_cnp, there in percent. 0: a cut as any other; up to 0.85.
	FirstRate float64
}

// Units of rates in bit/s.
const (
	megabit = 1e6
	terabit = 1e12
)
