//go:build linux

package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/xdp"
)

// nicLinks are the links below the kernel's IP.
var nicLinks = []struct {
	name string
	open openInterface
}{
	{"raw", openRaw},
	{"xdp", openXDP(xdp.Native())},
	{"xdp generic", openXDP(xdp.Generic())},
}

// TestKernelOverNIC runs what TestKernel does with our device on an interface: a tap
// device whose other end is the guest's cable. Every opcode over each link, every
// refusal over IPv4, against the newest kernel; all that there is against each kernel
// if ROCE_FULL is set.
func TestKernelOverNIC(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns)
	kernels, over := []guest.Kernel{guest.KernelNewest}, families[:1]
	if testenv.Full() {
		kernels, over = guest.Kernels(), families
	}
	var rows []Row
	for _, k := range kernels {
		t.Run(string(k), func(t *testing.T) {
			g := guest.BootForTest(t, k, guest.Config{Data: guest.OnTap})
			for _, n := range nicLinks {
				t.Run(n.name, func(t *testing.T) {
					l := openLab(t, g, openIn(t, g.Netns(), guest.TapName, n.open), n.name)
					t.Run("opcodes", func(t *testing.T) { rows = append(rows, testOpcodes(t, l, lengths)...) })
					t.Run("failures", func(t *testing.T) { rows = append(rows, testCells(t, l, over, "failures", failures)...) })
					if testenv.Full() {
						t.Run("loss", func(t *testing.T) { rows = append(rows, testCells(t, l, over, "loss", losses)...) })
					}
				})
			}
		})
	}
	if testenv.Full() && !t.Failed() {
		const suites = 3
		require.Len(t, rows, len(kernels)*len(nicLinks)*suites*len(families)*len(ways), "results")
		keep(t, rows)
	}
}
