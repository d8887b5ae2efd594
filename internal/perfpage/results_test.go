package perfpage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const twoRounds = `kernel: Linux 6.1
round: 1
load: 0.10
goos: linux
BenchmarkRate/UDP/64B-2    100    10 ns/op    2 msg/s    0 B/op    0 allocs/op
PASS
round: 2
load: 0.20
BenchmarkRate/UDP/64B-2    100    11 ns/op    4 msg/s    0 B/op    1 allocs/op
`

func TestParse(t *testing.T) {
	r, err := Parse(twoRounds)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"kernel": "Linux 6.1", "goos": "linux"}, r.Config)
	require.Equal(t, []string{"0.10", "0.20"}, r.Loads)
	values, err := r.values("Rate/UDP/64B", "msg/s")
	require.NoError(t, err)
	require.Equal(t, []float64{2, 4}, values)
	_, err = r.values("Rate/UDP/64B", "MB/s")
	require.EqualError(t, err, "round 1 has no MB/s of Rate/UDP/64B")
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "not results of make perf",
		"BenchmarkX-2 1 2 ns/op":           `before the first "round: "`,
		"round: 1\nBenchmarkX-2 1 2":       "line 2",
		"round: 1\nBenchmarkX-2 1 x ns/op": "invalid syntax",
		"round: 1\nBenchmarkX-2 1 2 ns/op\nBenchmarkX-2 1 2 ns/op": "X is twice in one round",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}
