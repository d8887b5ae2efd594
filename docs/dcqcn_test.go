package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/dcqcnpage"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// TestDCQCNPageIsMadeOfTheResults proves that every number of docs/dcqcn.md was measured,
// is what it must be, and is what comes out today: the page is what the generator makes of
// the raw results beside it; those are of all cases, and hold their bounds; and some are
// measured again. The pictures that the page shows are there.
func TestDCQCNPageIsMadeOfTheResults(t *testing.T) {
	raw, err := os.ReadFile("dcqcn.jsonl")
	require.NoError(t, err)
	results, err := dcqcnpage.Read(raw)
	require.NoError(t, err)
	want, err := dcqcnpage.Page(results)
	require.NoError(t, err)
	page, err := os.ReadFile("dcqcn.md")
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run go run ./internal/dcqcnpage/dcqcn")
	for _, m := range regexp.MustCompile(`\]\((dcqcn/[^)]+)\)`).FindAllStringSubmatch(string(page), -1) {
		require.FileExists(t, filepath.FromSlash(m[1]))
	}

	const again = "run go run ./internal/dcqcnpage/dcqcn -measure"
	cases := dcqcnpage.Cases()
	require.Len(t, results, len(cases), again)
	for i, c := range cases {
		require.Equal(t, c.ID, results[i].ID, again)
		for _, check := range results[i].Checks {
			require.True(t, check.Holds(), "%+v: %v", c.ID, check)
		}
		if c.Short && i%10 == 0 && !testenv.Race {
			row, err := c.Measure()
			require.NoError(t, err)
			require.Equal(t, results[i].Checks, row.Checks, again)
		}
	}
}
