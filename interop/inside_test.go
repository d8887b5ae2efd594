//go:build linux

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/interop/guest"
)

// insideTimeout only keeps hanging tests in a guest from hanging the suite.
const insideTimeout = 15 * time.Minute

// testBinary builds the tests of a package, named from the module's root, as a static
// program that runs in any guest.
func testBinary(t *testing.T, pkg string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), path.Base(pkg)+".test")
	cmd := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-o", file, "./"+pkg)
	cmd.Dir = ".."
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// verdicts are how tests in a guest ended. Tests with subtests are left out: their
// subtests tell.
type verdicts struct {
	passed  []string
	skipped map[string]string // and for what reason
	printed map[string]string // what the test printed
}

// runInside runs the tests of a binary whose names match a pattern (of -test.run) in a
// guest. A test that fails there fails here, with what it printed. So does one that
// skips, since a guest has all that tests need, unless its reason is among those given,
// as regular expressions.
func runInside(t *testing.T, g *guest.Guest, binary, pattern string, skips ...string) verdicts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), insideTimeout)
	defer cancel()
	program, err := os.ReadFile(binary)
	require.NoError(t, err)
	file := "/tmp/" + filepath.Base(binary)
	require.NoError(t, g.Put(ctx, file, program, 0o755))
	start := time.Now()
	// GOMAXPROCS: with a single one, on a guest's single CPU, a goroutine that spins
	// hears of one that sleeps in the kernel only after 10 ms.
	r, err := g.Run(ctx, fmt.Sprintf("cd /tmp && GOMAXPROCS=2 %s=1 ROCE_TEST_REQUIRE=root,netns %s -test.v=test2json -test.timeout %v -test.run '%s'",
		insideEnv, file, insideTimeout, pattern))
	require.NoError(t, err, tail(r))
	v, failed := readVerdicts(t, r.Stdout)
	require.Empty(t, failed, "failed in the guest\n%s", r.Stderr)
	require.Zero(t, r.Code, "exit status of the tests in the guest\n%s", tail(r))
	require.NotEmpty(t, v.passed, "no test of this name: %s\n%s", pattern, tail(r))
	for name, reason := range v.skipped {
		allowed := slices.ContainsFunc(skips, func(s string) bool { return regexp.MustCompile(s).MatchString(reason) })
		require.True(t, allowed, "%s was skipped in the guest: %s", name, reason)
	}
	t.Logf("%s in the guest, kernel %s: %d passed, %d skipped, %.1f s", filepath.Base(binary), release(t, g), len(v.passed), len(v.skipped), time.Since(start).Seconds())
	return v
}

func tail(r guest.Result) string {
	const most = 4000
	s := r.Stdout + r.Stderr
	return s[max(0, len(s)-most):]
}

// testEvent is a line of go tool test2json.
type testEvent struct {
	Action, Test, Output string
}

// readVerdicts reads what a test binary printed. failed has what failed tests printed.
func readVerdicts(t *testing.T, output string) (v verdicts, failed string) {
	t.Helper()
	cmd := exec.Command("go", "tool", "test2json")
	cmd.Stdin = strings.NewReader(output)
	events, err := cmd.Output()
	require.NoError(t, err)
	v = verdicts{skipped: map[string]string{}, printed: map[string]string{}}
	parents := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(events)); d.More(); {
		var e testEvent
		require.NoError(t, d.Decode(&e))
		switch e.Action {
		case "output":
			v.printed[e.Test] += e.Output
		case "run":
			for name := path.Dir(e.Test); name != "."; name = path.Dir(name) {
				parents[name] = true
			}
		case "pass":
			if e.Test != "" && !parents[e.Test] {
				v.passed = append(v.passed, e.Test)
			}
		case "skip":
			if e.Test != "" {
				v.skipped[e.Test] = skipReason(v.printed[e.Test])
			}
		case "fail":
			failed += fmt.Sprintf("\n%s:\n%s", e.Test, v.printed[e.Test])
		}
	}
	return v, failed
}

var skipLine = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (.*)$`)

// skipReason is the last line that a skipped test logged.
func skipReason(printed string) string {
	lines := skipLine.FindAllStringSubmatch(printed, -1)
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1][1]
}

// insideEnv tells a test that it runs in a guest.
const insideEnv = "ROCE_INSIDE"

// inside reports whether this process runs in a guest.
func inside() bool { return os.Getenv(insideEnv) != "" }
