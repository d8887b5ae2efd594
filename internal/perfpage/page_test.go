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
	line, err := w.row(row{"X", "x", "y"}, []column{{"MB/s", "MB/s"}})
	require.NoError(t, err)
	require.Equal(t, "| X | **20.0** (10.0–300) | **2.00** (1.00–3.00) | 2 |", line)
	line, err = w.row(row{"Y", "y", ""}, []column{{"MB/s", "MB/s"}})
	require.NoError(t, err)
	require.Equal(t, "| Y | **20.0** (5.00–100) | 1 | 0 |", line)
}

func TestEveryBaselineIsShown(t *testing.T) {
	for name, table := range tables {
		shown := make(map[string]bool)
		for _, r := range table.rows {
			shown[r.bench] = true
		}
		for _, r := range table.rows {
			require.True(t, r.baseline == "" || shown[r.baseline], "%s: %s", name, r.label)
		}
	}
}

func TestPageRefuses(t *testing.T) {
	_, err := Page(&Results{Rounds: []Round{{"Rate/New": nil}}})
	require.ErrorContains(t, err, "no table shows Rate/New")
	r, err := Parse(twoRounds)
	require.NoError(t, err)
	_, err = Page(r)
	require.ErrorContains(t, err, `no entry for key "processors"`, "an incomplete header")
}
