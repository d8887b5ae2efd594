package docs_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// section is the part of a page below a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+heading+"\n")
	require.True(t, found, heading)
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// TestCountersPageHasEveryCounter proves that the page says of each counter what the
// device says, in the same order.
func TestCountersPageHasEveryCounter(t *testing.T) {
	var rows strings.Builder
	for id := range roce.NumCounters {
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", id, id.Side(), id.Unit(), id.Help())
	}
	table := section(t, readPage(t, "counters.md"), "What each counts")
	require.Contains(t, table, "|---|---|---|---|\n"+rows.String()+"\n")
}

// counterName matches what looks like a counter's name in the page's tables.
var counterName = regexp.MustCompile("`([a-z]+(?:_[a-z]+)+)`")

// TestCountersPageNamesWhatExists proves that the other tables name counters that there
// are: all of the page's names are ours, but rdma_rxe's in their column.
func TestCountersPageNamesWhatExists(t *testing.T) {
	exists := map[string]bool{"roce_stat_total": true, "rdma_rxe": true}
	for id := range roce.NumCounters {
		exists[id.String()] = true
	}
	page := readPage(t, "counters.md")
	rxe, found := section(t, page, "Beside Linux' rdma_rxe"), 0
	for line := range strings.Lines(page) {
		if strings.Contains(rxe, line) && strings.HasPrefix(line, "| `") {
			_, line, _ = strings.Cut(line[1:], "|")
		}
		for _, m := range counterName.FindAllStringSubmatch(line, -1) {
			require.True(t, exists[m[1]], "there is no counter %s", m[1])
			found++
		}
	}
	require.Greater(t, found, int(roce.NumCounters))
}

// TestCountersPageHasEveryFieldOfQPStats proves that the page explains what a queue pair
// counts.
func TestCountersPageHasEveryFieldOfQPStats(t *testing.T) {
	table := section(t, readPage(t, "counters.md"), "One queue pair")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[roce.QPStats]()) {
		require.Contains(t, table, "`"+f.Name+"`")
	}
}
