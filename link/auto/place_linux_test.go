package auto

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

// XDP would not see the tags of a VLAN on an interface that takes them off.
func TestHiddenTagsAreNotForXDP(t *testing.T) {
	eth := &hostnet.Interface{Name: "eth0"}
	p := &place{itf: eth, base: eth, tagged: true, untags: true}
	require.Equal(t, "eth0 takes VLAN tags off before XDP sees the packets; turn that off for xdp: ethtool -K eth0 rxvlan off", nativeXDP(p))
	require.Empty(t, frames(p))

	veth := &hostnet.Interface{Name: "va", Kind: "veth"}
	p = &place{itf: veth, base: veth, tagged: true}
	require.Contains(t, nativeXDP(p), "va is a veth, whose other end keeps VLAN tags beside the packets")
}

// AF_XDP sockets of a bond, or of a VLAN on one, would get nothing.
func TestBondsAreNotForXDP(t *testing.T) {
	bond := &hostnet.Interface{Name: "bond0", Kind: "bond"}
	vlan := &hostnet.Interface{Name: "bond0.5", Kind: "vlan", VLAN: 5}
	for _, itf := range []*hostnet.Interface{bond, vlan} {
		p := &place{itf: itf, base: bond}
		require.Contains(t, nativeXDP(p), "bond0 is a bond: its members receive the packets")
		require.Empty(t, frames(p))
	}
}

// The first that opens is taken; those before it have said why not.
func TestTheFirstThatOpensIsTaken(t *testing.T) {
	world := simnet.New(1)
	nothing := func(*place) string { return "" }
	order := []candidate{
		{kind{"A", func(*place) string { return "there is an obstacle" }, nil}, "", ""},
		{kind{"B", nothing, func(*place) (link.Link, error) { return nil, errors.New("B does not open") }}, "", ""},
		{kind{"C", nothing, func(*place) (link.Link, error) { return world.Link("C", netip.MustParseAddr("10.0.0.1")), nil }},
			"C has a virtue", ""},
		{kind{"D", nothing, nil}, "", "D has a drawback"},
	}
	c, err := choose(&place{}, Latency, order)
	require.NoError(t, err)
	require.Equal(t, "C", c.Name)
	require.Equal(t, `chose sim C: C has a virtue
not A: there is an obstacle
not B: B does not open
not D: C is preferred for latency: D has a drawback`, c.String())

	_, err = choose(&place{}, Latency, order[:2])
	require.EqualError(t, err, "A: there is an obstacle\nB does not open")
}
