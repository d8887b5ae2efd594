// Package fuzzing drives a fuzz target by counted, reproducible inputs.
//
// Go's own fuzzer (go test -fuzz) is guided by coverage and finds more per input,
// but it can neither be repeated nor does it say how many inputs a target has
// survived over its life. Drive complements it: input number n of a target is a
// pure function of the target's name, its seeds and n, so that executions can be
// counted over months, any input can be made again from its number, and a run
// which starts where the last logged one ended explores only new inputs.
//
// A target is one function under both:
//
//	func fuzzParse(data []byte) { … }                     // panics if an invariant breaks
//
//	func FuzzParse(f *testing.F) {
//		for _, s := range parseSeeds() {
//			f.Add(s)
//		}
//		f.Fuzz(func(_ *testing.T, data []byte) { fuzzParse(data) })
//	}
//
//	func TestDriveParse(t *testing.T) { fuzzing.Drive(t, "FuzzParse", parseSeeds(), fuzzParse) }
//
// It is for tests only.
package fuzzing

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/rocinante-rdma/roce/internal/ledger"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// executionsEnv is the number of inputs that Drive makes.
const executionsEnv = "ROCE_FUZZ_N"

// Inputs of an ordinary test run: about a second for a parser of packets.
const (
	defaultExecutions = 50_000
	raceExecutions    = 5_000
)

// Drive calls one with ROCE_FUZZ_N inputs (default 50,000; 5,000 under the race
// detector), each a seed mutated a few times, and fails the test at the first
// input at which it panics, naming its number and its bytes.
//
// The first input's number is TEST_SEED if set, else the executions that the
// ledger has of this name. With ROCE_LEDGER=1 a run that passes is logged.
//
// one must not keep its argument. name is the fuzz target's and identifies it in the
// ledger; changing the seeds changes the inputs.
func Drive(t *testing.T, name string, seeds [][]byte, one func(data []byte)) {
	t.Helper()
	first, n := firstInput(t, name), executions(t)
	t.Logf("%s: inputs %d to %d", name, first, first+n-1)
	if f := search(newMutator(name, seeds), first, n, one); f != nil {
		t.Fatalf("%s: input %d: panic: %v\ninput: %x\nrepeat with TEST_SEED=%d %s=1 go test -run '^%s$'\n\n%s",
			name, f.number, f.value, f.input, f.number, executionsEnv, t.Name(), f.stack)
	}
	ledger.Append(t, ledger.Run{Test: name, Seed: first, Executions: n})
}

// finding is an input at which a target panics.
type finding struct {
	number uint64
	input  []byte
	value  any // of the panic
	stack  []byte
}

// search runs the target over n inputs and returns the first finding.
func search(m *mutator, first, n uint64, one func([]byte)) *finding {
	for i := first; i < first+n; i++ {
		if f := try(one, m.input(i)); f != nil {
			// Made anew, for the target may have written to it.
			f.number, f.input = i, m.input(i)
			return f
		}
	}
	return nil
}

func try(one func([]byte), data []byte) (f *finding) {
	defer func() {
		if v := recover(); v != nil {
			f = &finding{value: v, stack: debug.Stack()}
		}
	}()
	one(data)
	return nil
}

func firstInput(t *testing.T, name string) uint64 {
	t.Helper()
	if seed, set := testenv.SeedFromEnv(t); set {
		return seed
	}
	done, err := ledger.Total(name)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func executions(t *testing.T) uint64 {
	t.Helper()
	s, set := os.LookupEnv(executionsEnv)
	if !set {
		if testenv.Race {
			return raceExecutions
		}
		return defaultExecutions
	}
	n, err := parseExecutions(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func parseExecutions(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err == nil && n == 0 {
		err = errors.New("no inputs prove nothing")
	}
	if err != nil {
		return 0, fmt.Errorf("%s=%q: %w; give the number of inputs", executionsEnv, s, err)
	}
	return n, nil
}
