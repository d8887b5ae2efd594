package simnet

import (
	"time"

	"github.com/rocinante-rdma/roce/wire"
)

// holdLimit is how long a reordered frame waits for those that shall overtake it.
const holdLimit = time.Millisecond

// Drop loses frames.
func Drop(m Match) *Fault {
	return newFault(m, (*crossing).lose)
}

// Duplicate delivers frames twice, one right behind the other; what else holds a
// frame up holds up only one of the two.
func Duplicate(m Match) *Fault {
	return newFault(m, (*crossing).copy)
}

// Delay holds frames up for d; others overtake them.
func Delay(m Match, d time.Duration) *Fault {
	return newFault(m, func(c *crossing) bool {
		c.delay += d
		return true
	})
}

// Reorder holds frames back until so many later ones from the same to the same
// link have passed, at least one; if they do not come, for one millisecond.
func Reorder(m Match, overtakers int) *Fault {
	return newFault(m, func(c *crossing) bool { return c.reorder(max(overtakers, 1)) })
}

// Corrupt flips one bit, counted from the first bit of the BTH; a negative one is
// counted back from the end, so that the last four bytes, -32 … -1, are the ICRC.
// Frames that do not have the bit stay as they are.
func Corrupt(m Match, bit int) *Fault {
	return newFault(m, func(c *crossing) bool { return c.flip(bit) })
}

// MarkCE sets Congestion Experienced, as a switch does, on frames of transports
// that are capable of it (RFC 3168, 5: ECT(0) and ECT(1)).
func MarkCE(m Match) *Fault {
	return newFault(m, (*crossing).mark)
}

// Partition loses everything between two links. [Faults.Remove] heals it.
func Partition(a, b string) *Fault {
	return newFault(Match{}, func(c *crossing) bool {
		from, to := c.frame.from.name, c.frame.to.name
		if (from == a && to == b) || (from == b && to == a) {
			return c.lose()
		}
		return false
	})
}

// Random holds probabilities, 0 to 1, of what happens to a frame, each on its own.
type Random struct {
	Loss    float64
	Dup     float64
	Reorder float64 // behind one to three later frames
	Corrupt float64 // one bit, anywhere
	CE      float64 // see MarkCE
}

// Randomly does random things to frames. A Match with From and To gives a
// direction probabilities of its own.
func Randomly(m Match, r Random) *Fault {
	return newFault(m, r.roll)
}

func newFault(m Match, do func(*crossing) bool) *Fault {
	return &Fault{matcher: matcher{Match: m}, do: do}
}

// roll decides a frame's luck. The dice are rolled before any is looked at, so
// that changing one probability does not change the luck with the others.
func (r Random) roll(c *crossing) (done bool) {
	dice := c.world.Faults.dice
	loss, dup, reorder, corrupt, ce := dice.Float64(), dice.Float64(), dice.Float64(), dice.Float64(), dice.Float64()
	overtakers, bit := 1+dice.IntN(3), dice.IntN(max(8*c.frame.n, 1))
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

func (c *crossing) lose() bool {
	c.drop = true
	return true
}

func (c *crossing) copy() bool {
	c.copies++
	return true
}

func (c *crossing) reorder(overtakers int) bool {
	c.overtakers = max(c.overtakers, overtakers)
	return true
}

func (c *crossing) flip(bit int) bool {
	if bit < 0 {
		bit += 8 * c.frame.n
	}
	if bit < 0 || bit >= 8*c.frame.n {
		return false
	}
	c.frame.buf[bit/8] ^= 0x80 >> (bit % 8)
	c.world.count(c.frame, Corrupted)
	return true
}

func (c *crossing) mark() bool {
	if ecn := wire.ECN(c.frame.meta.ECN); ecn != wire.ECT0 && ecn != wire.ECT1 {
		return false
	}
	c.frame.meta.ECN = uint8(wire.CE)
	c.world.count(c.frame, Marked)
	return true
}
