package testenv

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	errNoTshark = errors.New("no tshark on this moon")

	present = Feature{Name: "root", Check: func() error { return nil }}
	absent  = Feature{Name: "tshark", Check: func() error { return errNoTshark }}
)

func TestNeedGoesOnWhereNothingIsMissing(t *testing.T) {
	t.Setenv(requireEnv, "root")
	Need(t, present)
}

// E11: without root or a kernel module tests skip, and say what they miss.
func TestMissingFeatureSkipsWithItsReason(t *testing.T) {
	for _, words := range []string{"", "root", "interop,netns"} {
		_, required, err := firstMissing(words, []Feature{present, absent})
		require.ErrorIs(t, err, errNoTshark, "what the skip says is what is missing")
		require.False(t, required, "with %s=%q", requireEnv, words)
	}
}

func TestMissingFeatureFailsWhereRequired(t *testing.T) {
	for _, words := range []string{"tshark", "root,netns,tshark,interop"} {
		name, required, err := firstMissing(words, []Feature{present, absent})
		require.ErrorIs(t, err, errNoTshark)
		require.True(t, required, "with %s=%q", requireEnv, words)
		require.Equal(t, "tshark", name)
	}
}

// A misspelt requirement would otherwise require nothing, silently.
func TestMisspeltRequirementFails(t *testing.T) {
	for _, words := range []string{"tsark", "root,", " root", "Root"} {
		_, required, err := firstMissing(words, []Feature{present})
		require.ErrorContains(t, err, "is no feature", "with %s=%q", requireEnv, words)
		require.True(t, required)
	}
}

func TestFeaturesAreRequirable(t *testing.T) {
	for _, f := range []Feature{Root, Netns, Tshark} {
		require.Contains(t, known, f.Name)
	}
}

func TestAbsentProgramIsNamedWithItsPackage(t *testing.T) {
	err := command("no-such-program", "its-package")()
	require.ErrorContains(t, err, "no-such-program")
	require.ErrorContains(t, err, "its-package")
}

// The check of namespaces agrees with unshare(1), an independent witness.
func TestNetnsCheckAgreesWithUnshare(t *testing.T) {
	Need(t, Root)
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("no unshare(1) to compare with; install the Debian package util-linux")
	}
	out, witness := exec.Command("unshare", "--net", "true").CombinedOutput()
	require.Equal(t, witness == nil, Netns.Check() == nil, "unshare: %v %s; the check: %v", witness, out, Netns.Check())
}

func TestSeedIsTheEnvironments(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "42": 42, "0x2a": 42, "18446744073709551615": 1<<64 - 1} {
		t.Setenv(seedEnv, text)
		require.Equal(t, want, Seed(t))
	}
}

func TestSeedsAreNumbers(t *testing.T) {
	for _, text := range []string{"", "yesterday", "-1", "18446744073709551616"} {
		_, err := parseSeed(text)
		require.ErrorContains(t, err, "give a number", "with %q", text)
	}
}
