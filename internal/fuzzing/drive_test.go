package fuzzing

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzPlanted is a target with a planted fault: it panics at inputs whose bytes 4
// to 6 are a PSN at the end of its space.
func fuzzPlanted(data []byte) {
	if len(data) > 6 && bytes.Equal(data[4:7], []byte{0xff, 0xff, 0xff}) {
		panic("the planted fault")
	}
}

func TestSearchFindsAPlantedFaultAndRepeatsIt(t *testing.T) {
	seeds := [][]byte{make([]byte, 32)}
	found := search(newMutator("FuzzPlanted", seeds), 0, defaultExecutions, fuzzPlanted)
	require.NotNil(t, found)
	require.Equal(t, "the planted fault", found.value)
	require.Contains(t, string(found.stack), "fuzzPlanted", "the stack names the place")
	require.Equal(t, []byte{0xff, 0xff, 0xff}, found.input[4:7])

	again := search(newMutator("FuzzPlanted", seeds), found.number, 1, fuzzPlanted)
	require.NotNil(t, again)
	require.Equal(t, found.input, again.input)
	require.Nil(t, search(newMutator("FuzzPlanted", seeds), 0, found.number, fuzzPlanted), "it was the first")
}

// A target may write to its argument; the report still has what it was given.
func TestSearchReportsTheInputAsGiven(t *testing.T) {
	seeds := [][]byte{[]byte("sixteen byte seed")}
	found := search(newMutator("T", seeds), 0, 1, func(data []byte) {
		clear(data)
		panic("spoilt")
	})
	require.Equal(t, newMutator("T", seeds).input(0), found.input)
}

func TestExecutionsProveSomething(t *testing.T) {
	n, err := parseExecutions("20000000")
	require.NoError(t, err)
	require.EqualValues(t, 20_000_000, n)
	for _, s := range []string{"0", "-1", "many", ""} {
		_, err := parseExecutions(s)
		require.ErrorContains(t, err, "give the number of inputs", "with %q", s)
	}
}

// Two logged runs in a row cover twice the inputs, none of them twice.
func TestRunsContinueTheLedger(t *testing.T) {
	newLedger(t)
	t.Setenv("ROCE_LEDGER", "1")
	t.Setenv("ROCE_FUZZ_N", "300")
	os.Unsetenv("TEST_SEED")
	var calls int
	count := func([]byte) { calls++ }
	var logged []string
	for range 2 {
		Drive(t, "FuzzCounted", nil, count)
		b, err := os.ReadFile("docs/runs.jsonl")
		require.NoError(t, err)
		logged = regexp.MustCompile(`"seed":\d+,"executions":\d+`).FindAllString(string(b), -1)
	}
	require.Equal(t, 600, calls)
	require.Equal(t, []string{`"seed":0,"executions":300`, `"seed":300,"executions":300`}, logged)
}

// newLedger makes an empty module under git, the working directory of the test.
func newLedger(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("go.mod", []byte("module m\n"), 0o644))
	require.NoError(t, os.Mkdir("docs", 0o755))
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "m"},
	} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
	}
}
