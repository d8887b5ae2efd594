// Command perf makes docs/perf.md, in the root of the module:
//
//	go run ./internal/perfpage/perf            of the raw results that are there
//	go run ./internal/perfpage/perf -measure   measures before, which takes some minutes
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/rocinante-rdma/roce/internal/perfpage"
)

const (
	rawFile  = "docs/perf/results.txt"
	pageFile = "docs/perf.md"
)

func main() {
	again := flag.Bool("measure", false, "measure, and replace the raw results")
	flag.Parse()
	if err := run(*again); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

func run(again bool) error {
	if again {
		raw, err := measure()
		if err != nil {
			return err
		}
		if err := os.WriteFile(rawFile, raw, 0o644); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(rawFile)
	if err != nil {
		return err
	}
	results, err := perfpage.Parse(string(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", rawFile, err)
	}
	page, err := perfpage.Page(results)
	if err != nil {
		return fmt.Errorf("%s: %w", rawFile, err)
	}
	return os.WriteFile(pageFile, []byte(page), 0o644)
}
