package fault

import (
	"strconv"
	"time"

	"github.com/rocinante-rdma/roce/bth"
)

// clause is a word of a script with its value: a condition, or an argument of a kind.
type clause struct {
	word   string
	values int    // words that follow
	takes  string // what they are
	only   []kind // the kinds that have it, nil: all
	need   bool   // whether they must have it
	read   func(r *Rule, v []string) (ok bool)
	write  func(r *Rule) string // the values, "" if the rule does without it
}

// clauses in the order in which a rule is written.
var clauses = []clause{
	argument("by", "a time such as 5ms", delaying, readDelay, func(r *Rule) string { return r.delay.String() }),
	argument("by", "a number from 1", reordering, number(1, maxInt, func(r *Rule) *int { return &r.overtakers }),
		func(r *Rule) string { return strconv.Itoa(r.overtakers) }),
	argument("bit", "a number, negative if counted from the end", corrupting,
		number(minInt, maxInt, func(r *Rule) *int { return &r.bit }), func(r *Rule) string { return strconv.Itoa(r.bit) }),
	chance("drop", rolling, func(r *Rule) *float64 { return &r.luck.Loss }),
	chance("duplicate", rolling, func(r *Rule) *float64 { return &r.luck.Dup }),
	chance("reorder", rolling, func(r *Rule) *float64 { return &r.luck.Reorder }),
	chance("corrupt", rolling, func(r *Rule) *float64 { return &r.luck.Corrupt }),
	chance("mark-ce", rolling, func(r *Rule) *float64 { return &r.luck.CE }),
	name("from", func(r *Rule) *string { return &r.match.From }),
	name("to", func(r *Rule) *string { return &r.match.To }),
	{word: "between", values: 2, takes: "the names of two ends", read: readBetween, write: writeBetween},
	{word: "qpn", values: 1, takes: "a number from 1 to 0xffffff", read: readQPN, write: writeQPN},
	{word: "psn", values: 1, takes: "a number from 0 to 0xffffff", read: readPSN, write: writePSN},
	counter("transmission", func(r *Rule) *int { return &r.match.Transmission }),
	chance("p", kinds, func(r *Rule) *float64 { return &r.match.P }),
	{word: "seed", values: 1, takes: "a number from 1", read: readSeed, write: writeSeed},
	counter("nth", func(r *Rule) *int { return &r.match.Nth }),
	counter("every", func(r *Rule) *int { return &r.match.Every }),
	counter("count", func(r *Rule) *int { return &r.match.Count }),
}

// Numbers of scripts have 32 bits at most, on every machine.
const (
	maxInt = 1<<31 - 1
	minInt = -1 << 31
)

// argument is a clause that a kind must have, and no other has.
func argument(word, takes string, of kind, read func(*Rule, []string) bool, write func(*Rule) string) clause {
	return clause{word: word, values: 1, takes: takes, only: []kind{of}, need: true, read: read, write: write}
}

// name is a clause whose value is the name of an end.
func name(word string, field func(*Rule) *string) clause {
	return clause{
		word: word, values: 1, takes: "the name of an end",
		read:  func(r *Rule, v []string) bool { *field(r) = v[0]; return true },
		write: func(r *Rule) string { return *field(r) },
	}
}

// counter is a clause whose value is a number from 1.
func counter(word string, field func(*Rule) *int) clause {
	return clause{
		word: word, values: 1, takes: "a number from 1", read: number(1, maxInt, field),
		write: func(r *Rule) string { return unlessZero(*field(r)) },
	}
}

// chance is a clause whose value is a probability, of one kind or of all.
func chance(word string, of kind, field func(*Rule) *float64) clause {
	c := clause{
		word: word, values: 1, takes: "a probability above 0, at most 1",
		read: func(r *Rule, v []string) bool {
			p, err := strconv.ParseFloat(v[0], 64)
			*field(r) = p
			return err == nil && p > 0 && p <= 1
		},
		write: func(r *Rule) string {
			if *field(r) == 0 {
				return ""
			}
			return strconv.FormatFloat(*field(r), 'g', -1, 64)
		},
	}
	if of != kinds {
		c.only = []kind{of}
	}
	return c
}

// number reads a number within bounds.
func number(least, most int64, field func(*Rule) *int) func(*Rule, []string) bool {
	return func(r *Rule, v []string) bool {
		n, err := strconv.ParseInt(v[0], 0, 64)
		*field(r) = int(n)
		return err == nil && n >= least && n <= most
	}
}

func unlessZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func readDelay(r *Rule, v []string) bool {
	d, err := time.ParseDuration(v[0])
	r.delay = d
	return err == nil && d > 0
}

func readBetween(r *Rule, v []string) bool {
	r.match.Between = [2]string(v)
	return true
}

func writeBetween(r *Rule) string {
	if r.match.Between == [2]string{} {
		return ""
	}
	return r.match.Between[0] + " " + r.match.Between[1]
}

const most24 = 1<<24 - 1

func readQPN(r *Rule, v []string) bool {
	n, err := strconv.ParseUint(v[0], 0, 32)
	r.match.QPN = uint32(n)
	return err == nil && n > 0 && n <= most24
}

func writeQPN(r *Rule) string {
	if r.match.QPN == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(uint64(r.match.QPN), 16)
}

func readPSN(r *Rule, v []string) bool {
	n, err := strconv.ParseUint(v[0], 0, 32)
	r.match.PSN = new(bth.PSN(n))
	return err == nil && n <= most24
}

func writePSN(r *Rule) string {
	if r.match.PSN == nil {
		return ""
	}
	return r.match.PSN.String()
}

func readSeed(r *Rule, v []string) (ok bool) {
	n, err := strconv.ParseUint(v[0], 0, 64)
	r.match.Seed = n
	return err == nil && n > 0
}

func writeSeed(r *Rule) string {
	if r.match.Seed == 0 {
		return ""
	}
	return strconv.FormatUint(r.match.Seed, 10)
}
