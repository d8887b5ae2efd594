package link_test

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// E01: every GID that a device lists works, whichever of them a peer picks: IPv4, IPv6,
// and the link-local one, which here is not made from the MAC. Index 0 of the kernel's
// table, which would be made from it, is no address then, and so is not listed.
func TestEveryGIDWorks(t *testing.T) {
	for name, open := range map[string]func(h *netns.Host) []link.Link{
		"raw": func(h *netns.Host) []link.Link {
			return []link.Link{openLinkOn(t, h, func() (link.Link, error) { return raw.Open(h.Interface) })}
		},
		"xdp": func(h *netns.Host) []link.Link {
			return []link.Link{openLinkOn(t, h, func() (link.Link, error) { return xdp.Open(h.Interface) })}
		},
		"udp": func(h *netns.Host) (list []link.Link) { // one link for each
			for _, g := range usableGIDs(t, h) {
				list = append(list, openLinkOn(t, h, func() (link.Link, error) { return udp.Open(g.Zoned()) }))
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			for _, h := range []*netns.Host{s.A, s.B} {
				moveLinkLocal(t, h)
			}
			rnd := rand.New(rand.NewPCG(testenv.Seed(t), 0))
			xs, ys := endsOn(t, s.A, open(s.A)), endsOn(t, s.B, open(s.B))
			require.Len(t, xs, 3)
			require.Len(t, ys, 3)
			for i, x := range xs {
				reconnect(t, x, ys[i], s, 4096)
				writeOne(t, x, ys[i], 100_000, rnd)
				t.Logf("%v to %v", x.qp.Info().GID, ys[i].qp.Info().GID)
			}
		})
	}
}

func openLinkOn(t *testing.T, h *netns.Host, open func() (link.Link, error)) (l link.Link) {
	t.Helper()
	require.NoError(t, h.Do(func() (err error) { l, err = open(); return err }))
	return l
}

func usableGIDs(t *testing.T, h *netns.Host) (list []hostnet.GID) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		i, err := hostnet.ByName(h.Interface)
		if err != nil {
			return err
		}
		table, err := hostnet.GIDs(i)
		if err != nil {
			return err
		}
		list, err = hostnet.Usable(table)
		return err
	}))
	return list
}

// moveLinkLocal gives a host a link-local address that is not made from its MAC, in place
// of that which is.
func moveLinkLocal(t *testing.T, h *netns.Host) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		if err != nil {
			return err
		}
		list, err := netlink.AddrList(l, netlink.FAMILY_V6)
		if err != nil {
			return err
		}
		for _, a := range list {
			if a.IP.IsLinkLocalUnicast() {
				if err := netlink.AddrDel(l, &a); err != nil {
					return err
				}
			}
		}
		own := netip.MustParseAddr("fe80::abcd:0").As16()
		own[15] = h.IPv4.As4()[3]
		return netns.AddAddress(l, netip.PrefixFrom(netip.AddrFrom16(own), 64).String())
	}))
}

// E04: without IPv6 there is IPv4, over every link.
func TestWithoutIPv6(t *testing.T) {
	for name, open := range map[string]func(h *netns.Host) (link.Link, error){
		"udp": openers["udp"],
		"raw": func(h *netns.Host) (link.Link, error) { return raw.Open(h.Interface) },
		"xdp": func(h *netns.Host) (link.Link, error) { return xdp.Open(h.Interface) },
	} {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			for _, h := range []*netns.Host{s.A, s.B} {
				require.NoError(t, h.Do(func() error {
					return os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
				}))
			}
			x, y := connect(t, open, open, s)
			require.Len(t, x.dev.GIDs(), 1)
			require.Equal(t, s.A.IPv4, x.dev.GIDs()[0].Addr())
			writeOne(t, x, y, 100_000, rand.New(rand.NewPCG(testenv.Seed(t), 0)))
		})
	}
}

// endsOn opens devices and makes an end for each of their GIDs.
func endsOn(t *testing.T, h *netns.Host, links []link.Link) (ends []*end) {
	t.Helper()
	for _, l := range links {
		first := newEnd(t, func(*netns.Host) (link.Link, error) { return l, nil }, h)
		for i := range first.dev.GIDs() {
			e := *first
			var err error
			e.qp, err = first.qp.PD().CreateQP(roce.QPConfig{SendCQ: e.cq, GIDIndex: i})
			require.NoError(t, err)
			ends = append(ends, &e)
		}
	}
	return ends
}
