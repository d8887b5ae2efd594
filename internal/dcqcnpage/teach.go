package dcqcnpage

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/congestion/ecn"
	"github.com/rocinante-rdma/roce/congestion/ecn/theory"
)

// parameters is the table of both sets.
func parameters() string {
	p, c := ecn.Paper(), ecn.ConnectX()
	lines := []string{"| `ecn.Params` | | the NIC's name | paper | ConnectX |", "|---|---|---|---:|---:|"}
	row := func(field, meaning, name string, of func(ecn.Params) string) {
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", field, meaning, name, of(p), of(c)))
	}
	row("Gain", "*g*, weight of a step of α", "`dce_tcp_g`", func(p ecn.Params) string { return fmt.Sprintf("1/%.4g", 1/p.Gain) })
	row("AlphaPeriod", "*K*, α falls after each without a CNP", "`dce_tcp_rtt`", func(p ecn.Params) string { return p.AlphaPeriod.String() })
	row("InitialAlpha", "α at the first CNP", "`initial_alpha_value`", func(p ecn.Params) string { return number(p.InitialAlpha) })
	row("Timer", "*T*, between increases by time", "`rpg_time_reset`", func(p ecn.Params) string { return p.Timer.String() })
	row("Bytes", "*B*, between increases by bytes", "`rpg_byte_reset`", func(p ecn.Params) string { return fmt.Sprintf("%.1f MB", float64(p.Bytes)/1e6) })
	row("FastRecovery", "*F*, the stage where fast recovery ends", "`rpg_threshold`", func(p ecn.Params) string { return fmt.Sprint(p.FastRecovery) })
	row("StageBefore", "*F* recoveries, not *F* − 1", "", func(p ecn.Params) string { return yes(p.StageBefore) })
	row("AdditiveIncrease", "*R*AI, a step of the target", "`rpg_ai_rate`", func(p ecn.Params) string { return rate(p.AdditiveIncrease) })
	row("HyperIncrease", "*R*HAI, a step when both stages are past *F*", "`rpg_hai_rate`", func(p ecn.Params) string { return rate(p.HyperIncrease) })
	row("HyperByStage", "… times how far past", "", func(p ecn.Params) string { return yes(p.HyperByStage) })
	row("MinRate", "no cut goes below", "`rpg_min_rate`", func(p ecn.Params) string { return rate(p.MinRate) })
	row("DecreaseInterval", "least time between cuts", "`rate_reduce_monitor_period`", func(p ecn.Params) string { return p.DecreaseInterval.String() })
	row("MaxCut", "largest part that a cut takes", "`rpg_min_dec_fac`", func(p ecn.Params) string { return fmt.Sprintf("%.0f %%", 100*p.MaxCut) })
	row("ClampTarget", "every cut lowers the target", "`clamp_tgt_rate`", func(p ecn.Params) string { return yes(p.ClampTarget) })
	row("FirstRate", "rate after the first CNP", "`rate_to_set_on_first_cnp`", func(p ecn.Params) string {
		if p.FirstRate == 0 {
			return "a cut"
		}
		return fmt.Sprintf("%.0f %% of the line", 100*p.FirstRate)
	})
	row("MaxRate", "without congestion", "`rpg_max_rate`", func(p ecn.Params) string {
		if p.MaxRate == 0 {
			return "the line"
		}
		return rate(p.MaxRate)
	})
	return strings.Join(lines, "\n")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// rate is in the largest unit that leaves something before the point.
func rate(bits float64) string {
	if bits >= 1e9 {
		return fmt.Sprintf("%.2f Gb/s", bits/1e9)
	}
	return fmt.Sprintf("%.0f Mb/s", bits/1e6)
}

// example lets a reaction point of the paper's set see two CNPs, and then none.
func example() string {
	var rp ecn.RP
	rp.Init(ecn.Paper(), capacity)
	lines := []string{"| time | what happens | α | target | rate |", "|---:|---|---:|---:|---:|"}
	note := func(now clock.Time, what string) {
		lines = append(lines, fmt.Sprintf("| %v | %s | %.3f | %s | %s |", time.Duration(now), what, rp.Alpha(), rate(rp.Target()), rate(rp.Rate())))
	}
	note(0, "line rate, nothing is limited")
	rp.CNP(0)
	note(0, "first CNP: α = 1, cut by α/2")
	rp.Advance(rp.Deadline())
	note(clock.Time(ecn.Paper().Timer), "timer, stage 1: fast recovery")
	second := clock.Time(100 * time.Microsecond)
	rp.CNP(second)
	note(second, "second CNP: cut by α/2 again")
	for stage := 1; stage <= 7; stage++ {
		now := rp.Deadline()
		rp.Advance(now)
		what := "fast recovery"
		if stage >= ecn.Paper().FastRecovery {
			what = "additive increase"
		}
		note(now, fmt.Sprintf("timer, stage %d: %s", stage, what))
	}
	return strings.Join(lines, "\n")
}

// fixedPoints are both models', beside each other, and between them the renewal one with
// as many fast recoveries as the published one has.
func fixedPoints() (string, error) {
	lines := []string{
		"| flows | p, published | p, renewal, F | p, renewal | α, published | α, renewal | CNPs/s and flow, renewal | queue, renewal |",
		"|---|---:|---:|---:|---:|---:|---:|---:|",
	}
	for _, n := range closedFlows {
		r, err := theory.RenewalAtRate(paperFlow(), capacity/float64(n))
		if err != nil {
			return "", err
		}
		f, err := theory.FluidAtRate(paperFlow(), capacity/float64(n))
		if err != nil {
			return "", err
		}
		slower := paperFlow()
		slower.Params.StageBefore = true
		s, err := theory.RenewalAtRate(slower, capacity/float64(n))
		if err != nil {
			return "", err
		}
		queue, _ := theory.Queue(usual, r.Marking)
		lines = append(lines, fmt.Sprintf("| %d | %.5f | %.5f | %.5f | %.3f | %.3f | %.0f | %.1f KB |",
			n, f.Marking, s.Marking, r.Marking, f.Alpha, r.Alpha, r.CNPs, queue/1e3))
	}
	return strings.Join(lines, "\n"), nil
}
