package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	latencySize = 64 // bytes of a message whose latency is measured
	warmUp      = 50 // operations before measuring
)

// measure does each operation many times, one at a time and then several at once.
// Nothing is recorded meanwhile; the clock stands still while memory is compared.
func measure(ctx context.Context, n network, p plan, o Options, res *Result) (err error) {
	ends, err := openPair(n, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ends.close()) }()
	small, err := newArena(ends, latencySize, 1)
	if err != nil {
		return err
	}
	large, err := newArena(ends, o.Size, depth)
	if err != nil {
		return err
	}
	for i := range p.operations {
		op := &p.operations[i]
		o.Progress(op.name)
		m, err := measureOne(ctx, small, large, op, p.budget)
		if err != nil {
			return fmt.Errorf("%s, measured: %w", op.name, err)
		}
		res.Operations = append(res.Operations, m)
	}
	res.Checked += small.checked + large.checked
	res.count(ends)
	res.Repeated = ends.a.qp.Stats().Retransmitted
	return nil
}

// measureOne gives each of its two series a budget.
func measureOne(ctx context.Context, small, large *arena, o *operation, budget time.Duration) (Measured, error) {
	for range warmUp {
		if _, err := small.batch(ctx, o, 1); err != nil {
			return Measured{}, err
		}
	}
	single, err := series(ctx, small, o, 1, budget)
	if err != nil {
		return Measured{}, err
	}
	bursts, err := series(ctx, large, o, depth, budget)
	if err != nil {
		return Measured{}, err
	}
	return newMeasured(o, single, bursts, large.size), nil
}

// series does batches of n until the budget is used up, checking included, and
// returns how long each took.
func series(ctx context.Context, r *arena, o *operation, n int, budget time.Duration) (took []time.Duration, err error) {
	for start := time.Now(); len(took) == 0 || time.Since(start) < budget; {
		t, err := r.batch(ctx, o, n)
		if err != nil {
			return nil, err
		}
		took = append(took, t)
	}
	return took, nil
}

// newMeasured sums two series up: of single operations, and of bursts of them.
func newMeasured(o *operation, single, bursts []time.Duration, size int) Measured {
	slices.Sort(single)
	var sum time.Duration
	for _, t := range bursts {
		sum += t
	}
	count := len(bursts) * depth
	perSecond := float64(count) / sum.Seconds()
	return Measured{
		Operation: o.name,
		Singles:   len(single), SingleBytes: o.length(latencySize),
		P50: microseconds(single[len(single)/2]), P99: microseconds(single[len(single)*99/100]),
		InBursts: count, BurstBytes: o.length(size),
		PerSecond: perSecond, MBPerSecond: perSecond * float64(o.length(size)) / 1e6,
	}
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
