// Command runs prints what the ledger of long test runs adds up to, as a Markdown
// table: for each test its executions in all, the number of runs, and the last.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/internal/ledger"
)

func main() {
	runs, err := ledger.Runs()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	printTotals(os.Stdout, runs)
}

// total is what the runs of one test add up to.
type total struct {
	test       string
	executions uint64
	runs       int
	last       ledger.Run
}

func printTotals(w io.Writer, runs []ledger.Run) {
	fmt.Fprintln(w, "| test | executions | runs | last run | commit |")
	fmt.Fprintln(w, "|---|---:|---:|---|---|")
	for _, t := range totals(runs) {
		fmt.Fprintf(w, "| %s | %s | %d | %s | %s |\n", t.test, grouped(t.executions), t.runs, t.last.Date, t.last.Commit)
	}
}

// totals adds the runs up by test, in the tests' alphabetical order.
func totals(runs []ledger.Run) []total {
	var out []total
	for _, r := range runs {
		i, found := slices.BinarySearchFunc(out, r.Test, func(t total, name string) int {
			return strings.Compare(t.test, name)
		})
		if !found {
			out = slices.Insert(out, i, total{test: r.Test})
		}
		out[i].executions += r.Executions
		out[i].runs++
		out[i].last = r
	}
	return out
}

// grouped writes a number with its thousands apart: 12,345,678.
func grouped(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
