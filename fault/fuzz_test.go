package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/fuzzing"
)

// fuzzScript breaks if a script that is read is written as another, or if an error
// points to no place of it.
func fuzzScript(b []byte) {
	script := string(b)
	rules, err := fault.Parse(script)
	if err != nil {
		requirePlaces(script, err)
		return
	}
	written := write(rules)
	again, err := fault.Parse(written)
	if err != nil {
		panic(fmt.Sprintf("%q was read, but is written %q: %v", script, written, err))
	}
	if write(again) != written {
		panic(fmt.Sprintf("%q is written %q, and that %q", script, written, write(again)))
	}
	var s fault.Set
	s.Add(rules...)
	for range 3 {
		s.Judge(fault.Frame{From: "a", To: "b", Payload: packet(bth.RCSendOnly, 1)})
	}
}

func write(rules []*fault.Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}

// requirePlaces panics unless every error is at a character of its line, or one behind.
func requirePlaces(script string, err error) {
	lines := strings.Split(script, "\n")
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var at *fault.ScriptError
		if !errors.As(e, &at) {
			panic(fmt.Sprintf("an error of type %T", e))
		}
		if at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column > len([]rune(lines[at.Line-1]))+1 {
			panic(fmt.Sprintf("no such place in %q: %v", script, at))
		}
	}
}

func scriptSeeds() [][]byte {
	seeds := [][]byte{nil, []byte("# comment\n\n drop ack nth 2 # and more\nlose any\n")}
	for _, c := range lines {
		seeds = append(seeds, []byte(c.line))
	}
	return seeds
}

func FuzzScript(f *testing.F) {
	for _, s := range scriptSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { fuzzScript(b) })
}

func TestDriveScript(t *testing.T) { fuzzing.Drive(t, "fault.FuzzScript", scriptSeeds(), fuzzScript) }
