package ecn

import (
	"fmt"
	"time"
)

// Paper is the set of the SIGCOMM 2015 paper, for 40 Gb/s links, with hyper increase and the
// lowest rate as they are commonly given for it.
func Paper() Params {
	return Params{
		Gain:             1.0 / 256,
		AlphaPeriod:      55 * time.Microsecond,
		InitialAlpha:     1,
		Timer:            55 * time.Microsecond,
		Bytes:            10_000_000,
		FastRecovery:     5,
		AdditiveIncrease: 40 * megabit,
		HyperIncrease:    400 * megabit,
		HyperByStage:     true,
		MinRate:          10 * megabit,
		MaxCut:           1,
		ClampTarget:      true,
	}
}

// ConnectX is the set that these NICs come with, from the vendor's parameter pages; the
// unit of rpg_byte_reset, 32767 there, is taken to be 64 B.
func ConnectX() Params {
	return Params{
		Gain:             5.0 / 1024,
		AlphaPeriod:      time.Microsecond,
		InitialAlpha:     1023.0 / 1024,
		Timer:            300 * time.Microsecond,
		Bytes:            32767 * 64,
		FastRecovery:     1,
		StageBefore:      true,
		AdditiveIncrease: 5 * megabit,
		HyperIncrease:    50 * megabit,
		MinRate:          1 * megabit,
		DecreaseInterval: 4 * time.Microsecond,
		MaxCut:           0.5,
	}
}

// Named returns a set by its name, "paper" or "connectx".
func Named(name string) (Params, error) {
	switch name {
	case "paper":
		return Paper(), nil
	case "connectx":
		return ConnectX(), nil
	}
	return Params{}, fmt.Errorf("ecn: no parameter set is called %q; there are \"paper\" and \"connectx\"", name)
}
