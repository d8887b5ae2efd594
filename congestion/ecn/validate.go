package ecn

import (
	"errors"
	"fmt"
	"time"
)

// Validate reports every parameter that is out of its range: its name, its value and
// what is allowed.
func (p Params) Validate() error {
	return errors.Join(
		share("Gain", p.Gain),
		between("AlphaPeriod", p.AlphaPeriod, time.Microsecond, time.Second),
		between("InitialAlpha", p.InitialAlpha, 0, 1),
		between("Timer", p.Timer, time.Microsecond, time.Second),
		zeroOr("Bytes", p.Bytes, 64, 1_000_000_000_000),
		between("FastRecovery", p.FastRecovery, 1, 31),
		between("AdditiveIncrease", p.AdditiveIncrease, megabit, terabit),
		between("HyperIncrease", p.HyperIncrease, megabit, terabit),
		between("MinRate", p.MinRate, megabit, terabit),
		zeroOr("MaxRate", p.MaxRate, p.MinRate, 10*terabit),
		between("DecreaseInterval", p.DecreaseInterval, 0, time.Second),
		share("MaxCut", p.MaxCut),
		between("FirstRate", p.FirstRate, 0, 0.85),
	)
}

type number interface {
	~int | ~int64 | ~float64
}

// between refuses what is not from low to high; a NaN is not.
func between[T number](name string, v, low, high T) error {
	if low <= v && v <= high {
		return nil
	}
	return fmt.Errorf("ecn: %s is %v, must be %v to %v", name, v, low, high)
}

func zeroOr[T number](name string, v, low, high T) error {
	if v == 0 || low <= v && v <= high {
		return nil
	}
	return fmt.Errorf("ecn: %s is %v, must be 0 or %v to %v", name, v, low, high)
}

// share refuses what is no part of a whole.
func share(name string, v float64) error {
	if 0 < v && v <= 1 {
		return nil
	}
	return fmt.Errorf("ecn: %s is %v, must be more than 0 and at most 1", name, v)
}
