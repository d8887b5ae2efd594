package dcqcnpage

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// TestProof measures the cases, all of them if ROCE_FULL is set, and proves that each
// number is what it must be. Under the race detector, which finds nothing in a program of
// one goroutine, it is a single one.
func TestProof(t *testing.T) {
	var events int64
	for _, c := range Cases() {
		if !testenv.Full() && !c.Short || testenv.Race && c.Scenario != withControl {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s/%d flows/seed %d", c.Scenario, c.Variant, c.Flows, c.Seed), func(t *testing.T) {
			row, err := c.Measure()
			require.NoError(t, err)
			for _, check := range row.Checks {
				if t.Log(check); !check.Holds() {
					t.Errorf("does not hold: %v", check)
				}
			}
			events += row.Events
		})
	}
	t.Logf("%d events", events)
	require.True(t, testenv.Full() || events < 120_000_000, "the short form is to take seconds")
}
