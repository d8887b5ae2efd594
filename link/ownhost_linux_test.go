package link_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// Queue pairs on one host talk over xdp, though frames on the wire would not come back:
// those of one device, and those of a device and another, of any kind.
func TestXDPOnOneHost(t *testing.T) {
	for _, c := range []struct {
		name string
		peer func(t *testing.T, h *netns.Host, x *end) (*netns.Host, *end)
	}{
		{"one device", func(t *testing.T, h *netns.Host, x *end) (*netns.Host, *end) {
			y := &end{t: t, dev: x.dev, name: x.name}
			y.equip()
			return h, y
		}},
		{"xdp and udp", func(t *testing.T, h *netns.Host, _ *end) (*netns.Host, *end) {
			h = atSecondAddress(t, h)
			return h, newEnd(t, openers["udp"], h)
		}},
		{"xdp and raw", func(t *testing.T, h *netns.Host, _ *end) (*netns.Host, *end) {
			h = atSecondAddress(t, h)
			return h, newEnd(t, openers["raw"], h)
		}},
		{"xdp on two interfaces", func(t *testing.T, h *netns.Host, _ *end) (*netns.Host, *end) {
			h = atSecondInterface(t, h)
			return h, newEnd(t, openers["xdp"], h)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := netnstest.NewStreet(t, netns.Options{MTU: 4200}).A
			x := newEnd(t, openers["xdp"], h)
			there, y := c.peer(t, h, x)
			reconnect(t, x, y, &netns.Street{A: h, B: there}, 4096)
			rnd := rand.New(rand.NewPCG(testenv.Seed(t), 0))
			for _, size := range []int{64, 100_000} {
				exchangeBothWays(t, x, y, size, rnd)
				exchangeBothWays(t, y, x, size, rnd)
			}
			x.requireNoBadICRC()
			y.requireNoBadICRC()
		})
	}
}

// atSecondAddress is a host by another address, which its interface gets.
func atSecondAddress(t *testing.T, h *netns.Host) *netns.Host {
	t.Helper()
	second := *h
	second.IPv4 = netip.MustParseAddr("10.9.0.3")
	setInterface(t, h, func(l netlink.Link) error { return netns.AddAddress(l, second.IPv4.String()+"/24") })
	return &second
}

// atSecondInterface is a host by another interface, which it gets: an end of a veth pair
// whose other end it has too.
func atSecondInterface(t *testing.T, h *netns.Host) *netns.Host {
	t.Helper()
	second := &netns.Host{Netns: h.Netns, Interface: "vc", IPv4: netip.MustParseAddr("10.8.0.1")}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = second.Interface, 4200
	require.NoError(t, h.Do(func() error {
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "vd", PeerMTU: 4200}); err != nil {
			return err
		}
		_, await, err := netns.SetUpFirst(second.Interface)
		if err != nil {
			return err
		}
		if _, err := netns.SetUp("vd"); err != nil {
			return err
		}
		await()
		return nil
	}))
	setInterface(t, second, func(l netlink.Link) error { return netns.AddAddress(l, second.IPv4.String()+"/24") })
	return second
}
