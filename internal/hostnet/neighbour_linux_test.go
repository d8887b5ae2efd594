package hostnet

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

func TestNeighboursAreFoundThroughTheKernel(t *testing.T) {
	a, b := newSides(t)
	h := a.handle()
	for _, next := range []netip.Addr{b.IPv4, b.IPv6, b.local, b.local.WithZone("va"), addr("::ffff:10.9.0.2")} {
		mac, err := h.Neighbour(t.Context(), a.index, next)
		require.NoError(t, err)
		require.Equal(t, b.mac, mac, next)
	}
	mac, err := b.handle().Neighbour(t.Context(), b.index, a.IPv4)
	require.NoError(t, err)
	require.Equal(t, a.mac, mac, "the other handle sees its own namespace")
}

// A packet makes the kernel look for a neighbour without any privilege.
func TestADatagramFindsNeighboursToo(t *testing.T) {
	a, b := newSides(t)
	h := a.handle()
	for _, next := range []netip.Addr{b.IPv4, b.IPv6, b.local} {
		before, err := h.neighbour(a.index, next)
		require.NoError(t, err)
		require.Zero(t, before.State&valid)
		require.NoError(t, h.probe.datagram(a.index, next))
		mac, err := h.resolve(t.Context(), a.index, next)
		require.NoError(t, err)
		require.Equal(t, b.mac, mac, next)
	}
}

func TestAnAbsentNeighbourIsAClearError(t *testing.T) {
	a, _ := newSides(t)
	a.sysctl("net/ipv4/neigh/va/mcast_solicit", "1")
	a.sysctl("net/ipv4/neigh/va/retrans_time_ms", "10")
	_, err := a.handle().Neighbour(t.Context(), a.index, addr("10.9.0.77"))
	require.EqualError(t, err, "neighbour 10.9.0.77 on va: nobody answers; is the host up, in this network (and VLAN), and is its address right?")
}

func TestSeekingANeighbourEndsWithItsContext(t *testing.T) {
	a, _ := newSides(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller lost interest"))
	_, err := a.handle().Neighbour(ctx, a.index, addr("10.9.0.77"))
	require.ErrorContains(t, err, "neighbour 10.9.0.77 on va: no answer until the call was given up: the caller lost interest")
}

// A neighbour that is known is not sought, so its MAC is there even if it is silent.
func TestAPermanentNeighbourIsTakenFromTheTable(t *testing.T) {
	a, _ := newSides(t)
	a.do(func() {
		require.NoError(t, netlink.NeighAdd(&netlink.Neigh{LinkIndex: a.index, State: unix.NUD_PERMANENT,
			IP: addr("10.9.0.9").AsSlice(), HardwareAddr: []byte{2, 0, 0, 0, 0, 9}}))
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mac, err := a.handle().Neighbour(ctx, a.index, addr("10.9.0.9"))
	require.NoError(t, err)
	require.Equal(t, wire.MAC{2, 0, 0, 0, 0, 9}, mac)
}
