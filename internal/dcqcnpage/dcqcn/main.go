// Command dcqcn makes docs/dcqcn.md, in the root of the module:
//
//	go run ./internal/dcqcnpage/dcqcn            of the raw results that are there
//	go run ./internal/dcqcnpage/dcqcn -measure   measures before, and draws the pictures
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/rocinante-rdma/roce/internal/dcqcnpage"
)

const (
	rawFile   = "docs/dcqcn.jsonl"
	pageFile  = "docs/dcqcn.md"
	curvesDir = "docs/dcqcn"
)

func main() {
	again := flag.Bool("measure", false, "measure, replace the raw results, and draw")
	flag.Parse()
	if err := run(*again); err != nil {
		fmt.Fprintln(os.Stderr, "dcqcn:", err)
		os.Exit(1)
	}
}

func run(again bool) error {
	if again {
		if err := measure(); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(rawFile)
	if err != nil {
		return err
	}
	results, err := dcqcnpage.Read(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", rawFile, err)
	}
	page, err := dcqcnpage.Page(results)
	if err != nil {
		return fmt.Errorf("%s: %w", rawFile, err)
	}
	return os.WriteFile(pageFile, []byte(page), 0o644)
}

func measure() error {
	results, err := dcqcnpage.Measure()
	if err != nil {
		return err
	}
	var raw bytes.Buffer
	if err := results.Write(&raw); err != nil {
		return err
	}
	if err := os.WriteFile(rawFile, raw.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(curvesDir, 0o755); err != nil {
		return err
	}
	return dcqcnpage.Curves(curvesDir)
}
