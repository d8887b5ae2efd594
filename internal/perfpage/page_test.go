package perfpage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpreads(t *testing.T) {
	require.Equal(t, spread{2, 1, 9}, spreadOf([]float64{9, 1, 2}))
	require.Equal(t, spread{3, 1, 9}, spreadOf([]float64{9, 1, 2, 4}))
	require.Equal(t, "**1,234** (12.3–12,345,678)", spread{1234, 12.34, 12345678}.String())
	require.Equal(t, []float64{2, 0.5}, ratios([]float64{4, 2}, []float64{2, 4}))
	require.InDelta(t, 2, spread{4, 1, 9}.relative(), 1e-9)
}

// Ratios are of the same round, not of the medians.
func TestRows(t *testing.T) {
	w := writer{&Results{Rounds: []Round{
		{"x": {"MB/s": 10, "allocs/op": 0}, "y": {"MB/s": 5, "allocs/op": 0}},
		{"x": {"MB/s": 300, "allocs/op": 2}, "y": {"MB/s": 100, "allocs/op": 0}},
		{"x": {"MB/s": 20, "allocs/op": 0}, "y": {"MB/s": 20, "allocs/op": 0}},
	}}}
	line, err := w.row(row{"X", "x", "y"}, table{columns: []column{{"MB/s", "MB/s"}}})
	require.NoError(t, err)
	require.Equal(t, "| X | **20.0** (10.0–300) | **2.00** (1.00–3.00) | 2 |", line)
	line, err = w.row(row{"Y", "y", ""}, table{columns: []column{{"MB/s", "MB/s"}}})
	require.NoError(t, err)
	require.Equal(t, "| Y | **20.0** (5.00–100) | 1 | 0 |", line)
	line, err = w.row(row{"Y", "y", ""}, table{columns: []column{{"MB/s", "MB/s"}}, alone: true})
	require.NoError(t, err)
	require.Equal(t, "| Y | **20.0** (5.00–100) |", line)
}

func TestEveryBaselineIsShown(t *testing.T) {
	for name, table := range new(Results).tables() {
		shown := make(map[string]bool)
		for _, r := range table.rows {
			shown[r.bench] = true
		}
		for _, r := range table.rows {
			require.True(t, r.baseline == "" || shown[r.baseline], "%s: %s", name, r.label)
		}
	}
}

func TestPrototypeIsBesideShownBenchmarks(t *testing.T) {
	shown := make(map[string]bool)
	for _, table := range linkTables {
		for _, r := range table.rows {
			shown[r.bench] = true
		}
	}
	results := &Results{Rounds: []Round{{}, {}}}
	for _, p := range prototype {
		require.True(t, shown[p.bench], p.label)
		require.LessOrEqual(t, p.prototype.min, p.prototype.median, p.label)
		require.LessOrEqual(t, p.prototype.median, p.prototype.max, p.label)
		results.Rounds[0][p.bench] = map[string]float64{"MB/s": 150, "p50-us": 1, "p99-us": 1}
		results.Rounds[1][p.bench] = map[string]float64{"MB/s": 600, "p50-us": 1, "p99-us": 1}
	}
	text, err := (&writer{results}).besidePrototype()
	require.NoError(t, err)
	require.Contains(t, text, "| `xdp`, MB/s at 1024 | **375** (374–447) | **375** (150–600) | **1.00** (0.40–1.60) |")
}

// Who may not make network namespaces gets a page all the same, which says what is
// missing; who may, and lacks a number, gets none.
func TestPageWithoutLinks(t *testing.T) {
	r := completeResults(loopbackTables)
	_, err := Page(r)
	require.ErrorContains(t, err, "round 1 has no ")
	r.Config[WithoutLinksKey] = "unshare: operation not permitted"
	page, err := Page(r)
	require.NoError(t, err)
	require.Contains(t, page, "unshare: operation not permitted")
	require.NotContains(t, page, "asavie")
	r.Rounds[0]["Links/UDP/poll"] = r.Rounds[0]["Latency/UDP/poll"]
	_, err = Page(r)
	require.ErrorContains(t, err, "no table shows Links/UDP/poll")
	page, err = Page(completeResults(new(Results).tables()))
	require.NoError(t, err)
	require.Contains(t, page, "asavie")
}

// completeResults has a round in which every value of some tables is 1.
func completeResults(tables map[string]table) *Results {
	r := &Results{Config: make(map[string]string), Rounds: []Round{{}}}
	for _, key := range []string{"processors", "cpu", "virtual", "kernel", "goos", "goarch", "go", "commit", "date"} {
		r.Config[key] = "some"
	}
	for _, table := range tables {
		for _, row := range table.rows {
			r.Rounds[0][row.bench] = map[string]float64{"allocs/op": 1}
			for _, c := range table.columns {
				r.Rounds[0][row.bench][c.unit] = 1
			}
		}
	}
	return r
}

func TestPageRefuses(t *testing.T) {
	_, err := Page(&Results{Rounds: []Round{{"Rate/New": nil}}})
	require.ErrorContains(t, err, "no table shows Rate/New")
	r, err := Parse(twoRounds)
	require.NoError(t, err)
	_, err = Page(r)
	require.ErrorContains(t, err, `no entry for key "processors"`, "an incomplete header")
}
