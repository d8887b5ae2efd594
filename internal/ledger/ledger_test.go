package ledger

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// newModule makes an empty module under git and makes it the working directory.
func newModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep", "package"), 0o755))
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "m"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
	}
	t.Chdir(filepath.Join(dir, "deep", "package"))
	return dir
}

func TestAppendedRunsAddUp(t *testing.T) {
	newModule(t)
	t.Setenv(logEnv, "1")
	Append(t, Run{Test: "A", Seed: 0, Executions: 100})
	Append(t, Run{Test: "B", Seed: 7, Executions: 5})
	Append(t, Run{Test: "A", Seed: 100, Executions: 50})

	a, err := Total("A")
	require.NoError(t, err)
	require.EqualValues(t, 150, a)
	none, err := Total("C")
	require.NoError(t, err)
	require.Zero(t, none)

	runs, err := Runs()
	require.NoError(t, err)
	require.Len(t, runs, 3)
	require.EqualValues(t, 100, runs[2].Seed)
	require.Regexp(t, `^\d{4}-\d\d-\d\d$`, runs[2].Date)
	require.Regexp(t, `^[0-9a-f]{12}$`, runs[2].Commit, "the ledger's own growth is no change of the tree")
}

func TestAppendMarksAChangedTree(t *testing.T) {
	dir := newModule(t)
	t.Setenv(logEnv, "1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package m\n"), 0o644))
	Append(t, Run{Test: "A", Executions: 1})
	runs, err := Runs()
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{12}\+changes$`, runs[0].Commit)
}

func TestOrdinaryRunsLeaveNoTrace(t *testing.T) {
	newModule(t)
	t.Setenv(logEnv, "")
	Append(t, Run{Test: "A", Executions: 1})
	runs, err := Runs()
	require.NoError(t, err)
	require.Empty(t, runs)
}

func TestConcurrentWritersKeepLinesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for range 100 {
				if err := appendTo(path, Run{Test: fmt.Sprint("writer", w), Executions: 1}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	runs, err := read(path)
	require.NoError(t, err)
	require.Len(t, runs, 800)
}

func TestReadNamesTheBadLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{\"test\":\"A\"}\nA: 5\n"), 0o644))
	_, err := read(path)
	require.ErrorContains(t, err, "runs.jsonl:2: ")
}

func TestTheCommittedLedgerReads(t *testing.T) {
	_, err := Runs()
	require.NoError(t, err)
}
