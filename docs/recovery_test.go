package docs_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/recoverypage"
)

// TestRecoveryPageIsMadeOfTheResults proves that every number of docs/recovery.md was
// measured, and is what comes out today: the page is what the generator makes of the raw
// results beside it, and of those one in twenty is measured again.
func TestRecoveryPageIsMadeOfTheResults(t *testing.T) {
	raw, err := os.ReadFile("recovery.jsonl")
	require.NoError(t, err)
	results, err := recoverypage.Read(bytes.NewReader(raw))
	require.NoError(t, err)
	want, err := recoverypage.Page(results)
	require.NoError(t, err)
	page, err := os.ReadFile("recovery.md")
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run go run ./internal/recoverypage/recovery")
	for i, c := range recoverypage.Cases() {
		if i%20 == 7 {
			r, err := recoverypage.Measure(c)
			require.NoError(t, err)
			require.Equal(t, results[c], r, "run go run ./internal/recoverypage/recovery -measure")
		}
	}
}
