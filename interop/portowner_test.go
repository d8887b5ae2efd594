//go:build linux

package interop

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
	"github.com/rocinante-rdma/roce/xdp"
)

// TestPortOfTheKernel runs in a guest whose kernel has rdma_rxe on its interface (case
// E14): the module has UDP port 4791 of every address. The udp link says so; raw and xdp
// open, and only for peers on the same host say it too.
func TestPortOfTheKernel(t *testing.T) {
	if inside() {
		testPortOfTheKernel(t)
		return
	}
	testenv.Need(t, guest.Feature)
	g := guest.BootForTest(t, guest.KernelNewest, guest.Config{})
	v := runInside(t, g, testBinary(t, "interop"), "^TestPortOfTheKernel$")
	t.Log(v.printed["TestPortOfTheKernel"])
}

func testPortOfTheKernel(t *testing.T) {
	const owner = "the kernel module rdma_rxe is loaded and takes it"
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, udp.ErrPortInUse)
		require.ErrorContains(t, err, owner)
		t.Log(err)
	}
	_, err := udp.Open(netip.MustParseAddr("127.0.0.1"))
	refused(err)
	device, addr := firstDevice(t)
	r, err := raw.Open(device, raw.Addrs(addr))
	require.NoError(t, err)
	refused(r.Resolve(&wire.Path{Src: addr, Dst: addr}))
	require.NoError(t, r.Close())
	x, err := xdp.Open(device, xdp.Addrs(addr))
	require.NoError(t, err)
	refused(x.Resolve(&wire.Path{Src: addr, Dst: addr}))
	require.NoError(t, x.Close())
}

// firstDevice is an interface that is up, and its first usable address.
func firstDevice(t *testing.T) (name string, addr netip.Addr) {
	t.Helper()
	all, err := hostnet.Interfaces()
	require.NoError(t, err)
	for i := range all {
		if all[i].Loopback || !all[i].Up {
			continue
		}
		table, err := hostnet.GIDs(&all[i])
		require.NoError(t, err)
		if usable, err := hostnet.Usable(table); err == nil {
			return all[i].Name, hostnet.Preferred(usable).Addr
		}
	}
	t.Fatalf("no interface with an address among %v", all)
	return "", netip.Addr{}
}
