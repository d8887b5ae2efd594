package nic

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// What a veth says of its speed is not believed.
func TestVethHasNoSpeed(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	require.NoError(t, s.A.Do(func() error {
		h, err := hostnet.NewHandle()
		require.NoError(t, err)
		all, err := h.Interfaces()
		require.NoError(t, errors.Join(err, h.Close()))
		veth := slices.IndexFunc(all, func(i hostnet.Interface) bool { return i.Name == "va" })
		require.Zero(t, rateOf(&all[veth]))
		require.EqualValues(t, 10e9, rateOf(&hostnet.Interface{Name: "va"}), "the same of no veth")
		return nil
	}))
}

// Only interfaces that carry Ethernet frames are opened. A VLAN lies on another one.
func TestBaseOf(t *testing.T) {
	eth := hostnet.Interface{Name: "eth0", Index: 2, MAC: mac1}
	vlan := hostnet.Interface{Name: "eth0.5", Index: 3, MAC: mac1, Parent: 2, VLAN: 5}
	all := []hostnet.Interface{eth, vlan}
	for _, i := range all {
		base, err := baseOf(&i, all)
		require.NoError(t, err)
		require.Equal(t, "eth0", base.Name)
	}
	for says, i := range map[string]hostnet.Interface{
		"loopback":                  {Name: "lo", Index: 1, Loopback: true},
		"no Ethernet frames":        {Name: "tun0", Index: 4},
		"another network namespace": {Name: "eth1.5", Index: 5, MAC: mac1, VLAN: 5},
	} {
		_, err := baseOf(&i, all)
		require.ErrorContains(t, err, says)
	}
}
