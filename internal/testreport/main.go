// Command testreport reads the output of "go test -json" and prints what a person
// wants to know of it: a line per package with tests, everything a failed test
// printed, and every skipped test with its reason.
//
//	go test -json ./... | go run ./internal/testreport [-skips FILE] [-allow FILE]
//
// With -skips the skipped tests are also appended to a file, so that a summary can
// repeat them after the runs of several commands. With -allow a test may skip only if
// what the report says of it, "package.Test: reason", matches a regular expression in
// a file, one a line between comments (#). It exits with status 1 if a test or a build
// failed, if a test skipped that may not, or if there was no test at all.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	skips := flag.String("skips", "", "append the skipped tests to this `file`")
	allow := flag.String("allow", "", "fail if a test skipped that no line of this `file` allows to")
	flag.Parse()
	r := newReport(os.Stdout)
	if *allow != "" {
		var err error
		if r.allowed, err = readAllowlist(*allow); err != nil {
			fail(err)
		}
	}
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
