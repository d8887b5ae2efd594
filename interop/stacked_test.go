//go:build linux

package interop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// TestStackedInterfaces runs the stack on VLANs (E05, W15) and on a bond (E06), in a
// guest: its kernel has both. The guest has the newest kernel, and each in turn if
// ROCE_FULL is set.
func TestStackedInterfaces(t *testing.T) {
	if inside() {
		for _, l := range stackedLinks {
			t.Run("VLAN "+l.name, func(t *testing.T) {
				t.Run("only its own", func(t *testing.T) { testOnlyItsVLAN(t, l.open) })
				t.Run("largest packets", func(t *testing.T) { testTaggedTransfer(t, l.open) })
			})
			t.Run("bond "+l.name, func(t *testing.T) { testBond(t, l.open) })
		}
		t.Run("VLAN xdp, tags beside frames", testTagsBeside)
		return
	}
	testenv.Need(t, guest.Feature)
	kernels := []guest.Kernel{guest.KernelNewest}
	if testenv.Full() {
		kernels = guest.Kernels()
	}
	var rows []Row
	for _, k := range kernels {
		t.Run(string(k), func(t *testing.T) {
			g := guest.BootForTest(t, k, guest.Config{NoRDMA: true, Modules: []string{"8021q", "bonding", "bridge"}})
			v := runInside(t, g, testBinary(t, "interop"), "^TestStackedInterfaces$")
			for _, test := range v.passed {
				t.Log(v.printed[test])
				name := strings.ReplaceAll(strings.TrimPrefix(test, "TestStackedInterfaces/"), "_", " ")
				rows = append(rows, newRow(t, g, "stacked", name, 1, nil))
			}
		})
	}
	if testenv.Full() && !t.Failed() {
		const each, more = 3, 1
		require.Len(t, rows, len(kernels)*(len(stackedLinks)*each+more), "results")
		keep(t, rows)
	}
}

// stackedLinks are the links under test.
var stackedLinks = []struct {
	name string
	open openInterface
}{{"raw", openRaw}, {"xdp", openXDP()}}
