// Command testreport reads the output of "go test -json" and prints what a person
// wants to know of it: a line per package with tests, everything a failed test
// printed, and every skipped test with its reason.
//
//	go test -json ./... | go run ./internal/testreport [-skips FILE]
//
// With -skips the skipped tests are also appended to a file, so that a summary can
// repeat them after the runs of several commands. It exits with status 1 if a test
// or a build failed, or if there was no test at all.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	skips := flag.String("skips", "", "append the skipped tests to this `file`")
	flag.Parse()
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fail(err)
	}
	r.summary()
	if *skips != "" {
		if err := r.appendSkips(*skips); err != nil {
			fail(err)
		}
	}
	if !r.passed() {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "testreport:", err)
	os.Exit(1)
}
