package recoverypage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// The cases of the page.
var (
	pathMTUs = []int{1024, 4096}
	rtts     = []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond}
	losses   = []float64{0, 0.0001, 0.001, 0.01, 0.05}
	seeds    = []uint64{1, 2, 3}
)

// Cases are all that the page shows.
func Cases() (list []Case) {
	for _, mtu := range pathMTUs {
		for _, rtt := range rtts {
			for _, loss := range losses {
				for _, goBackN := range []bool{true, false} {
					for _, seed := range seeds {
						list = append(list, Case{mtu, rtt, loss, goBackN, seed})
					}
				}
			}
		}
	}
	return list
}

// Results are by their cases.
type Results map[Case]Result

// Write writes one result a line.
func Write(w io.Writer, r Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Read reads what Write wrote.
func Read(r io.Reader) (Results, error) {
	all := Results{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var one Result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("result %d: %w", len(all)+1, err)
		}
		all[one.Case] = one
	}
	return all, nil
}

// of returns the results of a case under every seed, ordered by goodput.
func (all Results) of(c Case) (list []Result, err error) {
	for _, c.Seed = range seeds {
		r, found := all[c]
		if !found {
			return nil, fmt.Errorf("no result of %+v: measure again", c)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Result) int { return int(b.Elapsed - a.Elapsed) })
	return list, nil
}
