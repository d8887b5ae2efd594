package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowing is the list of a file with that text.
func allowing(t *testing.T, text string) *allowlist {
	t.Helper()
	file := filepath.Join(t.TempDir(), "skips")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	a, err := readAllowlist(file)
	require.NoError(t, err)
	return a
}

// idle is a module with a test that passes and two that skip.
func idle() map[string]string {
	return map[string]string{"m_test.go": `package m
import "testing"
func TestGood(*testing.T) {}
func TestNight(t *testing.T) { t.Skip("needs a moon: none in sight") }
func TestDay(t *testing.T) { t.Run("noon", func(t *testing.T) { t.Skip("needs a sun") }) }
`}
}

func TestSkipsThatAreAllowed(t *testing.T) {
	out, r := reportAllowing(t, allowing(t, `
# The moon is not there at all times.
^m\.TestNight: needs a moon: none in sight$

# Clouds.
^m\.TestDay/.*: needs a sun$

# Elsewhere.
^n\.
`), idle())
	require.True(t, r.passed(), out)
	require.Contains(t, out, "SKIP m.TestNight: needs a moon: none in sight\n")
	require.Contains(t, out, "2 passed, 0 failed, 2 skipped\n")
	require.NotContains(t, out, "FAIL")
}

func TestASkipThatIsNotAllowedFailsAndIsNamed(t *testing.T) {
	a := allowing(t, "^m\\.TestNight: needs a moon\n# ^m\\.TestDay\n")
	out, r := reportAllowing(t, a, idle())
	require.False(t, r.passed())
	require.Contains(t, out, "FAIL m.TestDay/noon: needs a sun: no line of "+a.file+" allows this skip\n")
	require.NotContains(t, out, "FAIL m.TestNight")

	// The reason counts, not the test alone.
	_, r = reportAllowing(t, allowing(t, "^m\\.TestNight: no owl$\n^m\\.TestDay\n"), idle())
	require.False(t, r.passed())
}

func TestAnEmptyListAllowsNoSkip(t *testing.T) {
	out, r := reportAllowing(t, allowing(t, "# none\n"), idle())
	require.False(t, r.passed())
	require.Contains(t, out, "FAIL m.TestNight")
	require.Contains(t, out, "FAIL m.TestDay/noon")

	_, r = reportOn(t, idle())
	require.True(t, r.passed(), "without a list all may skip")
}

func TestABrokenListIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skips")
	_, err := readAllowlist(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("# why\n("), 0o644))
	_, err = readAllowlist(file)
	require.ErrorContains(t, err, file+":2: ")
}

// The list of .ci/run can be read, and lets no test skip that misses a feature which
// .ci/run requires.
func TestListOfCI(t *testing.T) {
	a, err := readAllowlist("../../.ci/skips")
	require.NoError(t, err)
	var skips []skip
	for _, feature := range []string{"root", "netns", "tshark", "interop", "clang"} {
		skips = append(skips, skip{"xdp.TestConformance", "needs " + feature + ": it is missing"})
	}
	require.Equal(t, skips, a.refused(skips))
}
