package docs_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/perfpage"
)

// TestPerfPageIsMadeOfTheResults proves that every number of docs/perf.md was
// measured: the page is what the generator makes of the raw results beside it.
func TestPerfPageIsMadeOfTheResults(t *testing.T) {
	raw, err := os.ReadFile("perf/results.txt")
	require.NoError(t, err)
	results, err := perfpage.Parse(string(raw))
	require.NoError(t, err)
	want, err := perfpage.Page(results)
	require.NoError(t, err)
	page, err := os.ReadFile("perf.md")
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run go run ./internal/perfpage/perf")
}
