package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/ledger"
)

func TestTotalsAddUpByTest(t *testing.T) {
	var out strings.Builder
	printTotals(&out, []ledger.Run{
		{Test: "SoakFaults", Commit: "aaa", Executions: 999, Date: "2026-01-01"},
		{Test: "FuzzParse", Commit: "bbb", Executions: 1_000_000, Date: "2026-01-02"},
		{Test: "SoakFaults", Commit: "ccc", Executions: 1, Date: "2026-01-03"},
	})
	require.Equal(t, `| test | executions | runs | last run | commit |
|---|---:|---:|---|---|
| FuzzParse | 1,000,000 | 1 | 2026-01-02 | bbb |
| SoakFaults | 1,000 | 2 | 2026-01-03 | ccc |
`, out.String())
}

func TestGrouped(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567"} {
		require.Equal(t, want, grouped(n))
	}
}
