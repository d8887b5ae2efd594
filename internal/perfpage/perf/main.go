// Command perf makes docs/perf.md, in the root of the module:
//
//	go run ./internal/perfpage/perf            of the raw results that are there
//	go run ./internal/perfpage/perf -measure   measures before, which takes some minutes
package main

import (
	"github.com/rocinante-rdma/roce/internal/perfpage"
	"github.com/rocinante-rdma/roce/internal/rawpage"
)

func main() {
	rawpage.Main(rawpage.Page{Raw: "docs/perf/results.txt", Page: "docs/perf.md", Measure: measure, Make: makePage})
}

func makePage(raw []byte) (string, error) {
	results, err := perfpage.Parse(string(raw))
	if err != nil {
		return "", err
	}
	return perfpage.Page(results)
}
