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

// A neighbour whose entry is deleted while it is sought is sought on.
func TestADeletedEntryIsSoughtAgain(t *testing.T) {
	a, b := newSides(t)
	h := a.handle()
	setARP(t, b, false)
	type result struct {
		mac wire.MAC
		err error
	}
	found := make(chan result, 1)
	go func() {
		mac, err := h.Neighbour(t.Context(), a.index, b.IPv4)
		found <- result{mac, err}
	}()
	entry := &netlink.Neigh{LinkIndex: a.index, IP: b.IPv4.AsSlice()}
	for deleted := false; !deleted; { // there is none until it is sought
		a.do(func() { deleted = netlink.NeighDel(entry) == nil })
	}
	setARP(t, b, true)
	require.Equal(t, result{b.mac, nil}, <-found)
}

// setARP has a side answer who asks for its MAC, or not.
func setARP(t *testing.T, s side, answers bool) {
	t.Helper()
	l := s.link(s.Interface)
	s.do(func() {
		set := netlink.LinkSetARPOff
		if answers {
			set = netlink.LinkSetARPOn
		}
		require.NoError(t, set(l))
	})
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
