//go:build linux

package interop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/xdp"
)

// TestStackedInterfaces runs the stack on VLANs and on a bond, in a guest: its kernel
// has both. The guest has the newest kernel, and each in turn if ROCE_FULL is set.
func TestStackedInterfaces(t *testing.T) {
	if inside() {
		for _, l := range stackedLinks {
			t.Run("VLAN "+l.name, func(t *testing.T) {
				t.Run("only its own", func(t *testing.T) { testOnlyItsVLAN(t, l.open) })
				t.Run("largest packets", func(t *testing.T) { testTaggedTransfer(t, l.open) })
			})
			t.Run("bond "+l.name, func(t *testing.T) { testBond(t, l.openBond) })
		}
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
		const tests = 3
		require.Len(t, rows, len(kernels)*len(stackedLinks)*tests, "results")
		keep(t, rows)
	}
}

// openInterface opens a link on an interface of the calling thread's namespace.
type openInterface func(ifname string) (link.Link, error)

// stackedLinks are the links under test. In the driver of a bond's member the kernel
// does not let a packet into a socket of the bond, so that xdp runs behind it.
var stackedLinks = []struct {
	name           string
	open, openBond openInterface
}{
	{"raw", openRaw, openRaw},
	{"xdp", func(ifname string) (link.Link, error) { return xdp.Open(ifname) },
		func(ifname string) (link.Link, error) { return xdp.Open(ifname, xdp.Generic()) }},
}

// awaitCarrier waits until the kernel has noticed that an interface has a carrier: after
// others came up it takes up to a second.
func awaitCarrier(t *testing.T, n *netns.Netns, ifname string) {
	t.Helper()
	updates, done := make(chan netlink.LinkUpdate, 64), make(chan struct{})
	defer close(done)
	require.NoError(t, n.Do(func() error {
		return netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{ListExisting: true})
	}))
	for u := range updates {
		if a := u.Attrs(); a.Name == ifname && a.OperState == netlink.OperUp {
			return
		}
	}
}

func openRaw(ifname string) (link.Link, error) { return raw.Open(ifname) }
