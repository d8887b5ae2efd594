// Package rawpage is the programs that make a page of docs/ of raw results: those are
// measured on demand, and the page is made of what is there.
package rawpage

import (
	"flag"
	"fmt"
	"os"
)

// Page is a page and the raw results that it is made of: files, by their paths from the root
// of the module.
type Page struct {
	Raw, Page string
	// Measure makes new raw results.
	Measure func() ([]byte, error)
	// Make makes the page of raw results.
	Make func(raw []byte) (string, error)
}

// Main is the main function of the program that makes the page. It measures before if the
// flag -measure is given, and ends the process if something fails.
func Main(p Page) {
	again := flag.Bool("measure", false, "measure, and replace the raw results")
	flag.Parse()
	if err := p.run(*again); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Page, err)
		os.Exit(1)
	}
}

func (p Page) run(again bool) error {
	if again {
		raw, err := p.Measure()
		if err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		if err := os.WriteFile(p.Raw, raw, 0o644); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(p.Raw)
	if err != nil {
		return err
	}
	page, err := p.Make(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Raw, err)
	}
	return os.WriteFile(p.Page, []byte(page), 0o644)
}
