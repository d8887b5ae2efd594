package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/transport"
)

var (
	// hostileRow is a row of a table whose last column is a test.
	hostileRow = regexp.MustCompile("(?m)^\\| .* \\| `([^`]+)` (Test\\w+) \\|$")
	// countedRow is one that also says by which rules packets are counted.
	countedRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| [^|]+ \\| ([^|]+) \\| `[^|]+ \\|$")
	// otherCounts are what is counted without a rule of its own.
	otherCounts = []string{"", "one rule each", "the rule of the kind", "link counters", "events lost"}
)

// TestHostilePageNamesWhatExists proves that every test that the page names is there, and
// that what packets are counted as are the words, or the first words, of a rule.
func TestHostilePageNamesWhatExists(t *testing.T) {
	page := readPage(t, "hostile.md")
	rows := hostileRow.FindAllStringSubmatch(page, -1)
	for _, m := range rows {
		dir := filepath.Join(root, strings.TrimPrefix(m[1], "roce"))
		require.True(t, declaresTest(t, dir, m[2]), "package %s has no %s", m[1], m[2])
	}
	require.Len(t, rows, tableRows(page), "a row does not end with | `package` TestName |")

	counted := countedRow.FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, counted)
	for _, m := range counted {
		for _, words := range strings.Split(m[1], "; ") {
			require.True(t, slices.Contains(otherCounts, words) || isRule(words), "%q are the words of no rule", words)
		}
	}
}

// isRule reports whether a rule begins with these words.
func isRule(words string) bool {
	for r := range transport.NumRules {
		if strings.HasPrefix(r.String(), words) {
			return true
		}
	}
	return false
}
