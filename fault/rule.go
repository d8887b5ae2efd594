package fault

import (
	"math/rand/v2"
	"time"
)

// Rule is something that happens to the packets of a [Match]. It keeps count, so each
// is added to one [Set], once.
type Rule struct {
	kind  kind
	match Match

	delay      time.Duration // of a delay
	overtakers int           // of a reordering
	bit        int           // of a corruption
	luck       Random        // of a random rule

	progress
	dice *rand.Rand // since it was added
	hits int
}

// kind is what a rule does.
type kind uint8

const (
	dropping kind = iota
	duplicating
	delaying
	reordering
	corrupting
	marking
	rolling
	kinds
)

// deeds say what a kind does to a frame, and report whether anything was done.
var deeds = [kinds]func(*Rule, *crossing) bool{
	dropping:    func(_ *Rule, c *crossing) bool { return c.lose() },
	duplicating: func(_ *Rule, c *crossing) bool { return c.copy() },
	delaying:    func(r *Rule, c *crossing) bool { return c.delay(r.delay) },
	reordering:  func(r *Rule, c *crossing) bool { return c.reorder(r.overtakers) },
	corrupting:  func(r *Rule, c *crossing) bool { return c.flip(r.bit) },
	marking:     func(_ *Rule, c *crossing) bool { return c.mark() },
	rolling:     func(r *Rule, c *crossing) bool { return r.luck.roll(r.dice, c) },
}

// Drop loses frames.
func Drop(m Match) *Rule { return &Rule{kind: dropping, match: m} }

// Duplicate delivers frames twice, one right behind the other; what else holds a
// frame up holds up only one of the two.
func Duplicate(m Match) *Rule { return &Rule{kind: duplicating, match: m} }

// Delay holds frames up for d; others overtake them.
func Delay(m Match, d time.Duration) *Rule { return &Rule{kind: delaying, match: m, delay: d} }

// Reorder holds frames back until so many later ones of the same direction have
// passed, at least one; if they do not come, for as long as what carries the frames
// says.
func Reorder(m Match, overtakers int) *Rule {
	return &Rule{kind: reordering, match: m, overtakers: max(overtakers, 1)}
}

// Corrupt flips one bit, counted from the first bit of the BTH; a negative one is
// counted back from the end, so that the last four bytes, -32 … -1, are the ICRC.
// Frames that do not have the bit stay as they are.
func Corrupt(m Match, bit int) *Rule { return &Rule{kind: corrupting, match: m, bit: bit} }

// MarkCE sets Congestion Experienced, as a switch does, on frames of transports
// that are capable of it (RFC 3168, 5: ECT(0) and ECT(1)).
func MarkCE(m Match) *Rule { return &Rule{kind: marking, match: m} }

// Partition loses everything between two ends. [Set.Remove] heals it.
func Partition(a, b string) *Rule { return Drop(Match{Between: [2]string{a, b}}) }

// Randomly does random things to frames. A Match with From and To gives a direction
// probabilities of its own.
func Randomly(m Match, r Random) *Rule { return &Rule{kind: rolling, match: m, luck: r} }

// streamRules separates the random numbers of rules from others of the same seed.
const streamRules = 0x6661756c7473

// begin makes the rule ready to be the nth of a set with a seed. Its dice are its own,
// so that no rule changes the luck with another.
func (r *Rule) begin(seed, nth uint64) {
	if r.match.Seed != 0 {
		seed, nth = r.match.Seed, 0
	}
	r.dice = rand.New(rand.NewPCG(seed, streamRules+nth))
}

// strike does what the rule does if the frame is one of its.
func (r *Rule) strike(c *crossing) {
	if r.matches(c) && deeds[r.kind](r, c) {
		r.hits++
	}
}
