package fault

import "math/rand/v2"

// Random holds probabilities, 0 to 1, of what happens to a frame, each on its own.
type Random struct {
	Loss    float64
	Dup     float64
	Reorder float64 // behind one to three later frames
	Corrupt float64 // one bit, anywhere
	CE      float64 // see MarkCE
}

// roll decides a frame's luck. The dice are rolled before any is looked at, so that
// changing one probability does not change the luck with the others.
func (r *Random) roll(dice *rand.Rand, c *crossing) (done bool) {
	loss, dup, reorder, corrupt, ce := dice.Float64(), dice.Float64(), dice.Float64(), dice.Float64(), dice.Float64()
	overtakers, bit := 1+dice.IntN(3), dice.IntN(max(8*len(c.frame.Payload), 1))
	if loss < r.Loss {
		return c.lose()
	}
	if corrupt < r.Corrupt {
		done = c.flip(bit) || done
	}
	if ce < r.CE {
		done = c.mark() || done
	}
	if dup < r.Dup {
		done = c.copy() || done
	}
	if reorder < r.Reorder {
		done = c.reorder(overtakers) || done
	}
	return done
}
