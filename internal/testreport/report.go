package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of "go test -json" (go doc test2json, go help buildjson).
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build event
	Test       string
	Output     string
}

// report gathers events. Only what a running test has printed is kept.
type report struct {
	out     io.Writer
	allowed *allowlist

	printed map[string][]string // by package and test, until the test ends
	skips   []skip
	pass    int
	fail    int
	broken  bool // a package failed, built or not
}

// skip is a test that did not run.
type skip struct{ name, reason string }

func (s skip) String() string { return s.name + ": " + s.reason }

func newReport(out io.Writer) *report {
	return &report{out: out, printed: map[string][]string{}}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(r.out, lines.Text()) // the go command speaking for itself
			continue
		}
		r.event(e)
	}
	return lines.Err()
}

func (r *report) event(e event) {
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if e.Test == "" {
			r.packageOutput(key, e.Output)
			return
		}
		r.printed[key] = append(r.printed[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnd(key, e.Action)
		} else {
			r.testEnd(e, r.printed[key])
		}
		delete(r.printed, key)
	}
}

// packageOutput shows the result line of a package that had a test to run, at once,
// and keeps the rest, which matters if the package fails outside its tests.
func (r *report) packageOutput(key, line string) {
	switch {
	case strings.Contains(line, "[no test files]"), strings.Contains(line, "[no tests to run]"):
	case strings.HasPrefix(line, "ok  \t"), strings.HasPrefix(line, "FAIL\t"):
		fmt.Fprint(r.out, line)
	default:
		r.printed[key] = append(r.printed[key], line)
	}
}

func (r *report) packageEnd(key, action string) {
	if action != "fail" {
		return
	}
	r.broken = true
	r.show(r.printed[key])
	// Tests that were running when the process died have no end of their own.
	pkg, _, _ := strings.Cut(key, "\x00")
	for _, k := range r.running(pkg) {
		r.show(r.printed[k])
		delete(r.printed, k)
	}
}

// running returns the keys of a package's tests without an end, in order.
func (r *report) running(pkg string) []string {
	var keys []string
	for k := range r.printed {
		if p, test, _ := strings.Cut(k, "\x00"); p == pkg && test != "" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (r *report) testEnd(e event, printed []string) {
	switch e.Action {
	case "pass":
		r.pass++
	case "fail":
		r.fail++
		r.show(printed)
	case "skip":
		r.skips = append(r.skips, skip{short(e.Package) + "." + e.Test, reason(printed)})
	}
}

func (r *report) show(lines []string) {
	for _, l := range lines {
		fmt.Fprint(r.out, l)
	}
}

// short drops the module's path from a package.
func short(pkg string) string {
	if s, ours := strings.CutPrefix(pkg, "github.com/rocinante-rdma/roce/"); ours {
		return s
	}
	return pkg[strings.LastIndex(pkg, "/")+1:]
}

// reason is what a skipped test said last: its lines without the frame of the go
// command and without the place in the source.
func reason(printed []string) string {
	for _, l := range slices.Backward(printed) {
		text := strings.TrimSpace(l)
		if text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		if _, said, ok := strings.Cut(text, ".go:"); ok {
			if _, said, ok = strings.Cut(said, ": "); ok {
				return said
			}
		}
		return text
	}
	return "no reason given"
}

func (r *report) passed() bool {
	return !r.broken && r.fail == 0 && r.pass > 0 && len(r.allowed.refused(r.skips)) == 0
}

// summary prints the skips, the counts, which include subtests, and which of the skips
// fail the run.
func (r *report) summary() {
	for _, s := range r.skips {
		fmt.Fprintln(r.out, "SKIP", s)
	}
	if r.pass+r.fail == 0 {
		fmt.Fprintln(r.out, "no test ran")
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.pass, r.fail, len(r.skips))
	for _, s := range r.allowed.refused(r.skips) {
		fmt.Fprintf(r.out, "FAIL %v: no line of %s allows this skip\n", s, r.allowed.file)
	}
}

func (r *report) appendSkips(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, s := range r.skips {
		if _, err := fmt.Fprintln(f, s); err != nil {
			return err
		}
	}
	return f.Close()
}
