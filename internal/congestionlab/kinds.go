package congestionlab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// The kinds of keys: numbers with a range …

func numeric[T cmp.Ordered](name, help string, low, high T, parse func(string) (T, error), format func(T) string, field func(*Scenario) *T) Key {
	return Key{name, help, func(s *Scenario, value string) error {
		v, err := parse(value)
		if err != nil {
			return err
		}
		if v < low || v > high {
			return fmt.Errorf("is out of range: must be %s to %s", format(low), format(high))
		}
		*field(s) = v
		return nil
	}, func(s *Scenario) string { return format(*field(s)) }}
}

func count(name, help string, low, high int, field func(*Scenario) *int) Key {
	return numeric(name, help, low, high, parseCount, formatCount, field)
}

func size(name, help string, low, high int, field func(*Scenario) *int) Key {
	return numeric(name, help, low, high, parseBytes, formatBytes, field)
}

func span(name, help string, low, high time.Duration, field func(*Scenario) *time.Duration) Key {
	return numeric(name, help, low, high, parseDuration, formatDuration, field)
}

func rate(name, help string, low, high float64, field func(*Scenario) *float64) Key {
	return numeric(name, help, low, high, parseBitRate, formatBitRate, field)
}

func share(name, help string, low float64, field func(*Scenario) *float64) Key {
	return numeric(name, help, low, 1, parseShare, formatShare, field)
}

// parameter is a key of [ecn.Params]: its range is tried out on a set that is else right.
func parameter[T any](name, help string, parse func(string) (T, error), format func(T) string, field func(*ecn.Params) *T) Key {
	return Key{name, help, func(s *Scenario, value string) error {
		v, err := parse(value)
		if err != nil {
			return err
		}
		probe := ecn.ConnectX() // with the lowest MinRate, above which MaxRate must be
		*field(&probe) = v
		if err := probe.Validate(); err != nil {
			return fmt.Errorf("is refused: %w", err)
		}
		*field(&s.Params) = v
		return nil
	}, func(s *Scenario) string { return format(*field(&s.Params)) }}
}

// … and what is no number.

func setStarts(s *Scenario, value string) error {
	if every, ok := strings.CutPrefix(value, "every "); ok {
		d, err := parseDuration(strings.TrimSpace(every))
		if err != nil || d < 0 {
			return errors.New(`is no time; write one like "every 20ms"`)
		}
		s.Starts = Starts{Every: d}
		return nil
	}
	var list []time.Duration
	for _, one := range strings.Split(value, ",") {
		d, err := parseDuration(strings.TrimSpace(one))
		if err != nil || d < 0 {
			return errors.New(`is no list of times; write one like "0ms, 20ms, 50ms", or "every 20ms"`)
		}
		list = append(list, d)
	}
	s.Starts = Starts{List: list}
	return nil
}

// String is how scenarios write it.
func (s Starts) String() string {
	if len(s.List) == 0 {
		return "every " + formatDuration(s.Every)
	}
	list := make([]string, len(s.List))
	for i, d := range s.List {
		list[i] = formatDuration(d)
	}
	return strings.Join(list, ", ")
}

func setOperation(s *Scenario, value string) error {
	for _, o := range []Operation{Write, Read} {
		if value == o.String() {
			s.Operation = o
			return nil
		}
	}
	return errors.New("is no operation; there are write and read")
}

func setMTU(s *Scenario, value string) error {
	n, err := parseBytes(value)
	if err != nil || !slices.Contains([]int{256, 512, 1024, 2048, 4096}, n) {
		return errors.New("is no path MTU; there are 256, 512, 1024, 2048 and 4096")
	}
	s.MTU = n
	return nil
}

func setDCQCN(s *Scenario, value string) (err error) {
	s.DCQCN, err = parseSwitch(value)
	return err
}

func setParams(s *Scenario, value string) error {
	if value != scaled {
		if _, err := ecn.Named(value); err != nil {
			return errors.New(`is no set of parameters; there are "scaled", "paper" and "connectx"`)
		}
	}
	s.set = value
	return nil
}

func setSeed(s *Scenario, value string) (err error) {
	if s.Seed, err = strconv.ParseUint(value, 0, 64); err != nil {
		return fmt.Errorf("is no seed; write a number from 0 to %d", uint64(1<<64-1))
	}
	return nil
}
