//go:build linux

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tested is the commit that this run tests. It is asked for once, at the start: a
// long run must not take a later commit for the one that it was built from.
var tested, errTested = headCommit(".")

// testedCommit is the commit of a row.
func testedCommit(t *testing.T) string {
	t.Helper()
	require.NoError(t, errTested)
	return tested
}

// headCommit names the commit that a folder is checked out at, with -dirty if tracked files differ
// from it. The results do not count: every full run changes them.
func headCommit(folder string) (string, error) {
	head, err := exec.Command("git", "-C", folder, "describe", "--always", "--exclude", "*").Output()
	if err != nil {
		return "", fmt.Errorf("git describe: %w; rows of results need the commit that was tested: run in a git checkout", err)
	}
	commit := strings.TrimSpace(string(head))
	err = exec.Command("git", "-C", folder, "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs/interop*").Run()
	var changed *exec.ExitError
	switch {
	case err == nil:
		return commit, nil
	case errors.As(err, &changed) && changed.ExitCode() == 1:
		return commit + "-dirty", nil
	}
	return "", fmt.Errorf("git diff: %w", err)
}

// today is the date of a row.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

// Rows are marked as of a changed tree if any tracked file changed but the results.
func TestResultsMakeNoCommitDirty(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) {
		args = append([]string{"-C", root, "-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	commit := func() string {
		c, err := headCommit(filepath.Join(root, "interop"))
		require.NoError(t, err)
		return c
	}
	files := []string{"docs/interop.jsonl", "docs/interop.md", "docs/interop-pingpong.jsonl", "docs/interop-pingpong.md"}
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(root, "interop"), 0o700))
	for _, f := range append(files, "qp.go") {
		write(f, "old")
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "--message", "all")

	clean := commit()
	require.Regexp(t, "^[0-9a-f]{7,}$", clean)
	for _, f := range files {
		write(f, "new")
	}
	require.Equal(t, clean, commit())
	write("qp.go", "new")
	require.Equal(t, clean+"-dirty", commit())
}
