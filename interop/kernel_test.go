//go:build linux

package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// TestKernel runs the stack against the Linux kernel's rdma_rxe in a virtual machine,
// with the test process as the cable: every opcode, every refusal, every kind of loss,
// memory windows, queues that are shared, drained and counted, and switches that mark, in
// both directions and over both IP protocols. All of it against the oldest kernel; against
// the newest the least that meets every opcode, unless ROCE_FULL is set.
func TestKernel(t *testing.T) {
	testenv.Need(t, guest.Feature)
	var rows []Row
	for _, k := range guest.Kernels() {
		t.Run(string(k), func(t *testing.T) {
			l := newLab(t, k)
			if k != guest.Kernel61 && !testenv.Full() {
				t.Run("opcodes", func(t *testing.T) { testOpcodes(t, l, fewLengths) })
				return
			}
			t.Run("opcodes", func(t *testing.T) { rows = append(rows, testOpcodes(t, l, lengths)...) })
			t.Run("failures", func(t *testing.T) { rows = append(rows, testCells(t, l, families, "failures", failures)...) })
			t.Run("loss", func(t *testing.T) { rows = append(rows, testCells(t, l, families, "loss", losses)...) })
			t.Run("windows", func(t *testing.T) { rows = append(rows, testCells(t, l, families, "windows", windowCells)...) })
			t.Run("queues", func(t *testing.T) { rows = append(rows, testCells(t, l, families, "queues", queueCells)...) })
			t.Run("ecn", func(t *testing.T) {
				rows = append(rows, testCells(t, l, families, "ecn", ecnCells, requireCongestionKnown)...)
			})
		})
	}
	if testenv.Full() && !t.Failed() {
		const suites = 6
		require.Len(t, rows, len(guest.Kernels())*suites*len(families)*len(ways), "results")
		keep(t, rows)
	}
}
