// Package ledger keeps the record of long test runs: which test, on which commit,
// with which seed, how many executions. The record is a committed file, so that
// "this parser has seen a hundred million packets" is a sum that anybody can redo.
//
// A test logs itself with Append, which writes only when ROCE_LEDGER=1: ordinary
// runs leave no trace. Total says how far a test has come, and a random test that
// starts there never repeats what an earlier run has covered.
//
// It is for tests, and for the command in package ledger/runs.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Run is one run of a test, and one line of the ledger.
type Run struct {
	Test       string `json:"test"`       // what ran, for example "FuzzParsePacket"
	Commit     string `json:"commit"`     // of the tested tree; "+changes" after it if the tree was not clean
	Seed       uint64 `json:"seed"`       // reproduces the run on that commit
	Executions uint64 `json:"executions"` // in the test's own unit: inputs, messages, rounds
	Date       string `json:"date"`       // the day it ended, in UTC, as 2006-01-02
}

// logEnv makes tests log themselves.
const logEnv = "ROCE_LEDGER"

// file is the ledger's place in the module.
const file = "docs/runs.jsonl"

// Append adds a finished run to the ledger if ROCE_LEDGER=1; the commit and the
// date are filled in. A test that has failed is not logged: the record counts
// executions without a finding.
//
// Tests of several processes may append at once.
func Append(t testing.TB, r Run) {
	t.Helper()
	if os.Getenv(logEnv) != "1" || t.Failed() {
		return
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if r.Commit, err = commit(root); err != nil {
		t.Fatal(err)
	}
	r.Date = time.Now().UTC().Format(time.DateOnly)
	if err := appendTo(filepath.Join(root, file), r); err != nil {
		t.Fatal(err)
	}
	t.Logf("logged: %s, %d executions, seed %d, commit %s", r.Test, r.Executions, r.Seed, r.Commit)
}

// Total returns the executions of a test in all its logged runs.
func Total(test string) (uint64, error) {
	runs, err := Runs()
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, r := range runs {
		if r.Test == test {
			n += r.Executions
		}
	}
	return n, nil
}

// Runs returns the whole ledger, oldest run first; none if there is no ledger.
func Runs() ([]Run, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	return read(filepath.Join(root, file))
}

func read(path string) ([]Run, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var runs []Run
	line := 0
	for text := range bytes.Lines(b) {
		line++
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var r Run
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("ledger: %s:%d: %w; every line is one run as JSON", path, line, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// appendTo writes one line with one write to a file opened for appending, which
// keeps the lines of concurrent writers whole.
func appendTo(path string, r Run) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("ledger: append to %s: %w", path, err)
	}
	return nil
}

// moduleRoot returns the folder of go.mod above the working directory, which for
// a test is its package.
func moduleRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("ledger: no go.mod in %s or above it; run inside the module", wd)
		}
	}
}

// commit names the tree being tested. The ledger itself does not count as a
// change: it grows while the tests run.
func commit(root string) (string, error) {
	head, err := git(root, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := git(root, "status", "--porcelain", "--", ".", ":(exclude)"+file)
	if err != nil {
		return "", err
	}
	if changes != "" {
		head += "+changes"
	}
	return head, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ledger: git %s: %w: %s; long runs are logged by commit, so run in a git checkout",
			args[0], err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
