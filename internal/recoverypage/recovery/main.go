// Command recovery makes docs/recovery.md, in the root of the module:
//
//	go run ./internal/recoverypage/recovery            of the raw results that are there
//	go run ./internal/recoverypage/recovery -measure   measures before
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/rocinante-rdma/roce/internal/recoverypage"
)

const (
	rawFile  = "docs/recovery.jsonl"
	pageFile = "docs/recovery.md"
)

func main() {
	again := flag.Bool("measure", false, "measure, and replace the raw results")
	flag.Parse()
	if err := run(*again); err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
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
	results, err := recoverypage.Read(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", rawFile, err)
	}
	page, err := recoverypage.Page(results)
	if err != nil {
		return fmt.Errorf("%s: %w", rawFile, err)
	}
	return os.WriteFile(pageFile, []byte(page), 0o644)
}

func measure() error {
	var raw bytes.Buffer
	for _, c := range recoverypage.Cases() {
		r, err := recoverypage.Measure(c)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if err := recoverypage.Write(&raw, r); err != nil {
			return err
		}
	}
	return os.WriteFile(rawFile, raw.Bytes(), 0o644)
}
