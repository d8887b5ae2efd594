package interop

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The results of the last full run, and the page made from them.
const (
	resultsFile = "../docs/interop.jsonl"
	pageFile    = "../docs/interop.md"
)

// The page says what the results say.
func TestPageIsOfItsResults(t *testing.T) {
	rows, err := Read(resultsFile)
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	page, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	require.Equal(t, string(Page(rows)), string(page), "run go run ./interop/cmd/matrix in the module's root")
}

// Each suite of the page has been run.
func TestEverySuiteHasResults(t *testing.T) {
	rows, err := Read(resultsFile)
	require.NoError(t, err)
	for _, s := range suites {
		require.True(t, slices.ContainsFunc(rows, func(r Row) bool { return r.Suite == s.name }), "no row of %q: run make interop-full", s.name)
	}
}

// A run replaces the rows of its own suites alone.
func TestReplaceKeepsOtherSuites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	first := []Row{{Suite: "a", Case: "1"}, {Suite: "b", Case: "1"}}
	require.NoError(t, Replace(file, first))
	require.NoError(t, Replace(file, []Row{{Suite: "a", Case: "2"}}))
	rows, err := Read(file)
	require.NoError(t, err)
	require.Equal(t, []Row{{Suite: "b", Case: "1"}, {Suite: "a", Case: "2"}}, rows)
}

// A damaged file is an error that names the row.
func TestReadNamesTheDamagedRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("{\"suite\":\"a\"}\n{\"passed\":\"many\"}\n"), 0o600))
	_, err := Read(file)
	require.ErrorContains(t, err, "row 2")
}
