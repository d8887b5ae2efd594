package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reportOn runs "go test -json" on a module made of the given files and returns
// what the report prints, and the report.
func reportOn(t *testing.T, files map[string]string) (string, *report) {
	t.Helper()
	return reportAllowing(t, nil, files)
}

// reportAllowing is reportOn where only some tests may skip.
func reportAllowing(t *testing.T, allowed *allowlist, files map[string]string) (string, *report) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	events, _ := cmd.Output() // fails where the module's tests fail
	var out strings.Builder
	r := newReport(&out)
	r.allowed = allowed
	require.NoError(t, r.read(strings.NewReader(string(events))))
	r.summary()
	return out.String(), r
}

func TestReportOfPassesSkipsAndFailures(t *testing.T) {
	out, r := reportOn(t, map[string]string{"m_test.go": `package m
import "testing"
func TestGood(t *testing.T) { t.Log("nobody wants to know") }
func TestIdle(t *testing.T) { t.Skip("needs a moon: none in sight") }
func TestBad(t *testing.T) { t.Log("on the way"); t.Fatal("the wanted words") }
`})
	require.False(t, r.passed())
	require.Contains(t, out, "on the way")
	require.Contains(t, out, "the wanted words")
	require.NotContains(t, out, "nobody wants to know")
	require.Contains(t, out, "FAIL\tm")
	require.Contains(t, out, "SKIP m.TestIdle: needs a moon: none in sight\n")
	require.Contains(t, out, "1 passed, 1 failed, 1 skipped\n")
}

func TestReportOfSuccess(t *testing.T) {
	out, r := reportOn(t, map[string]string{"m_test.go": "package m\nimport \"testing\"\nfunc TestGood(*testing.T) {}\n"})
	require.True(t, r.passed(), out)
	require.Contains(t, out, "ok  \tm")
	require.Contains(t, out, "1 passed, 0 failed, 0 skipped\n")
}

func TestReportOfNothingIsNoSuccess(t *testing.T) {
	out, r := reportOn(t, map[string]string{"m.go": "package m\n"})
	require.False(t, r.passed())
	require.Contains(t, out, "no test ran")
}

func TestReportOfABrokenBuild(t *testing.T) {
	out, r := reportOn(t, map[string]string{"m_test.go": "package m\nvar x int = \"word\"\n"})
	require.False(t, r.passed())
	require.Contains(t, out, "m_test.go:2:")
	require.Contains(t, out, "FAIL\tm [build failed]")
}

// A panic outside the test's goroutine ends the process: what was printed by the
// test that ran then must not be lost.
func TestReportOfADeadProcess(t *testing.T) {
	out, r := reportOn(t, map[string]string{"m_test.go": `package m
import "testing"
func TestDies(t *testing.T) { println("last words"); go panic("the cause"); select {} }
`})
	require.False(t, r.passed())
	require.Contains(t, out, "last words")
	require.Contains(t, out, "the cause")
}
