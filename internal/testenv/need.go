package testenv

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Feature is something that a test needs and a machine may lack.
type Feature struct {
	// Name is the word for the feature in ROCE_TEST_REQUIRE, one of known.
	Name string
	// Check returns nil where the feature is there, else an error that names the
	// missing thing and how to get it.
	Check func() error
}

// requireEnv lists, separated by commas, the features whose absence is a failure.
const requireEnv = "ROCE_TEST_REQUIRE"

// known are the words that ROCE_TEST_REQUIRE may hold.
var known = []string{"root", "netns", "tshark", "interop", "clang"}

// Need skips the test unless every feature is there; the message is the missing
// thing. A feature named in ROCE_TEST_REQUIRE fails the test instead.
func Need(t testing.TB, features ...Feature) {
	t.Helper()
	missing, required, err := firstMissing(os.Getenv(requireEnv), features)
	switch {
	case err == nil:
	case required:
		t.Fatalf("%v (%s requires %s)", err, requireEnv, missing)
	default:
		t.Skip(err)
	}
}

// firstMissing returns the name of the first feature that is not there, whether
// require demands it, and the reason; a nil error if all are there. A require that
// cannot be read is an error of its own, and required.
func firstMissing(require string, features []Feature) (name string, required bool, err error) {
	words, err := parseRequire(require)
	if err != nil {
		return "features", true, err
	}
	for _, f := range features {
		if err := f.Check(); err != nil {
			return f.Name, slices.Contains(words, f.Name), fmt.Errorf("needs %s: %w", f.Name, err)
		}
	}
	return "", false, nil
}

// parseRequire reads the value of ROCE_TEST_REQUIRE. A word that is no feature is
// an error: a misspelt requirement would require nothing.
func parseRequire(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	words := strings.Split(s, ",")
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("%s=%q: %q is no feature; the features are %s",
				requireEnv, s, w, strings.Join(known, ", "))
		}
	}
	return words, nil
}
