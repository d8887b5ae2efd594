package fault

import (
	"slices"
	"sync"
)

// Set is the list of rules in force. Every frame meets them in the order in which they
// were added; a frame that one drops does not meet the others. The zero Set is empty.
// Its methods are safe for concurrent use.
type Set struct {
	mu    sync.Mutex
	seed  uint64
	rules []*Rule
	added uint64
	at    crossing
}

// SetSeed makes everything random in rules that are added from now on, and that have
// no seed of their own, derive from a seed; at first it is 0.
func (s *Set) SetSeed(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seed = seed
}

// Add puts rules in force.
func (s *Set) Add(rules ...*Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		r.begin(s.seed, s.added)
		s.added++
	}
	s.rules = append(s.rules, rules...)
}

// Remove ends rules: a partition heals. What they hold up goes on as they said.
func (s *Set) Remove(rules ...*Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.DeleteFunc(s.rules, func(r *Rule) bool { return slices.Contains(rules, r) })
}

// Hits is the number of frames to which a rule has done something, also after it was
// removed.
func (s *Set) Hits(r *Rule) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.hits
}

// Judge asks the rules about a frame. Bits of its payload may be flipped when Judge
// returns; all else is for the caller to do.
func (s *Set) Judge(f Frame) Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rules) == 0 {
		return Fate{}
	}
	c := &s.at
	c.enter(f)
	for _, r := range s.rules {
		r.strike(c)
		if c.fate.Drop {
			break
		}
	}
	fate := c.fate
	*c = crossing{} // lets go of the payload
	return fate
}
