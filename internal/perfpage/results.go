package perfpage

import (
	"fmt"
	"strconv"
	"strings"
)

// Results is what was measured.
type Results struct {
	Config map[string]string // what was said of the machine and the run: the last value of each key
	Loads  []string          // load average before each round
	Rounds []Round
}

// Round is one run of every benchmark: its values by name, without the prefix
// Benchmark and the suffix with the number of processors, and by unit.
type Round map[string]map[string]float64

// Keys of lines that come once per round; the first begins it.
const (
	roundKey = "round"
	loadKey  = "load"
)

// WithoutLinksKey begins the line that says why the links were not measured, if they
// were not.
const WithoutLinksKey = "without-links"

// WithoutLinks is why the links were not measured, or "".
func (r *Results) WithoutLinks() string { return r.Config[WithoutLinksKey] }

// Parse reads raw results: Go's benchmark format, where the lines "round: N" and
// "load: AVERAGE" come before each round.
func Parse(text string) (*Results, error) {
	r := &Results{Config: make(map[string]string)}
	for i, line := range strings.Split(text, "\n") {
		if err := r.add(line); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	if len(r.Rounds) == 0 {
		return nil, fmt.Errorf("no line begins with %q: these are not results of make perf", roundKey+": ")
	}
	return r, nil
}

func (r *Results) add(line string) error {
	if strings.HasPrefix(line, "Benchmark") {
		return r.addBenchmark(strings.Fields(line))
	}
	key, value, found := strings.Cut(line, ": ")
	if !found || strings.ContainsAny(key, " \t") {
		return nil // PASS, and what else tests print
	}
	switch key {
	case roundKey:
		r.Rounds = append(r.Rounds, make(Round))
	case loadKey:
		r.Loads = append(r.Loads, value)
	default:
		r.Config[key] = strings.TrimSpace(value)
	}
	return nil
}

// addBenchmark takes the fields of a line: name, iterations, and pairs of value and
// unit.
func (r *Results) addBenchmark(fields []string) error {
	if len(r.Rounds) == 0 {
		return fmt.Errorf("a benchmark before the first %q", roundKey+": ")
	}
	if len(fields) < 4 || len(fields)%2 != 0 {
		return fmt.Errorf("not a name, a number of iterations, and values with their units")
	}
	units := make(map[string]float64)
	for i := 2; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return err
		}
		units[fields[i+1]] = v
	}
	round, name := r.Rounds[len(r.Rounds)-1], benchmarkName(fields[0])
	if round[name] != nil {
		return fmt.Errorf("%s is twice in one round", name)
	}
	round[name] = units
	return nil
}

func benchmarkName(s string) string {
	s = strings.TrimPrefix(s, "Benchmark")
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		return s[:i]
	}
	return s
}

// values are a benchmark's values in all rounds.
func (r *Results) values(bench, unit string) ([]float64, error) {
	out := make([]float64, len(r.Rounds))
	for i, round := range r.Rounds {
		v, found := round[bench][unit]
		if !found {
			return nil, fmt.Errorf("round %d has no %s of %s", i+1, unit, bench)
		}
		out[i] = v
	}
	return out, nil
}
