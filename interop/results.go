package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Row is a line of the results: a group of cells that all passed, for nothing else is
// written down.
type Row struct {
	Kernel      string  `json:"kernel"`            // release of the peer's kernel, as uname -r prints it
	Suite       string  `json:"suite"`             // which test
	Case        string  `json:"case"`              // which part of it
	Passed      int     `json:"passed"`            // cells
	Packets     int     `json:"packets"`           // on the wire; 0: not counted
	Retransmits int     `json:"retransmits"`       // packets that either end sent again
	Goodput     float64 `json:"goodput,omitempty"` // MB/s; 0: not measured
	Date        string  `json:"date"`              // of the run, 2006-01-02
	Commit      string  `json:"commit"`            // that was tested; with -dirty, if changed
}

// Read reads the rows of a file of results. A file that is not there has none.
func Read(file string) (rows []Row, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var r Row
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("interop: %s: row %d: %w", file, len(rows)+1, err)
		}
		rows = append(rows, r)
	}
}

// Replace puts the rows of a run into a file of results, in place of all older rows
// of the same suites.
func Replace(file string, run []Row) error {
	old, err := Read(file)
	if err != nil {
		return err
	}
	replaced := make(map[string]bool)
	for _, r := range run {
		replaced[r.Suite] = true
	}
	rows := slices.DeleteFunc(old, func(r Row) bool { return replaced[r.Suite] })
	var lines bytes.Buffer
	for _, r := range append(rows, run...) {
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(file, lines.Bytes(), 0o644)
}
