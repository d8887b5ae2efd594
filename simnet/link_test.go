package simnet_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/simnet"
)

var (
	addrA = netip.MustParseAddr("10.0.0.1")
	addrB = netip.MustParseAddr("10.0.0.2")
)

// TestConformance runs the suite of link implementations over the kinds of worlds
// there are.
func TestConformance(t *testing.T) {
	v6a, v6b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	slow := []simnet.LinkOption{simnet.MTU(9000), simnet.Bandwidth(10e9), simnet.Queue(8)}
	for _, c := range []struct {
		name  string
		a, b  netip.Addr
		links []simnet.LinkOption
		world []simnet.Option
	}{
		{name: "virtual time", a: addrA, b: addrB},
		{name: "virtual time, IPv6, MTU 9000", a: v6a, b: v6b, links: []simnet.LinkOption{simnet.MTU(9000)}},
		{name: "virtual time, queues of 8 at 10 Gbit/s", a: addrA, b: addrB, links: slow},
		{name: "virtual time, no latency", a: addrA, b: addrB, links: []simnet.LinkOption{simnet.Latency(0)}},
		{name: "virtual time, super-frames", a: addrA, b: addrB, links: []simnet.LinkOption{simnet.SuperFrames(128)}},
		{name: "virtual time, super-frames in fragments", a: addrA, b: addrB,
			links: []simnet.LinkOption{simnet.MTU(4200), simnet.SuperFrames(20), simnet.Fragments()}},
		{name: "virtual time, super-frames, hidden identifications", a: addrA, b: addrB,
			links: []simnet.LinkOption{simnet.SuperFrames(128), simnet.HiddenIDs()}},
		{name: "virtual time, fragments, IPv6", a: v6a, b: v6b, links: []simnet.LinkOption{simnet.MTU(9000), simnet.Fragments()}},
		{name: "real time, super-frames in fragments", a: addrA, b: addrB,
			links: []simnet.LinkOption{simnet.Latency(0), simnet.SuperFrames(128), simnet.Fragments()},
			world: []simnet.Option{simnet.RealTime()}},
		{name: "real time", a: addrA, b: addrB, links: []simnet.LinkOption{simnet.Latency(0)},
			world: []simnet.Option{simnet.RealTime()}},
		{name: "real time, queues of 8 at 10 Gbit/s", a: addrA, b: addrB, links: slow,
			world: []simnet.Option{simnet.RealTime()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := linktest.Run
			if len(c.world) == 0 {
				run = linktest.RunMoving
			}
			run(t, func(t *testing.T) linktest.Pair {
				w := simnet.New(testenv.Seed(t), c.world...)
				a, b := w.Link("a", c.a, c.links...), w.Link("b", c.b, c.links...)
				p := linktest.Pair{A: a, B: b, Inject: injector(a, b)}
				if len(c.world) == 0 {
					p.Pass = func() bool {
						more, err := w.Step()
						if err != nil {
							t.Error(err)
						}
						return more
					}
				}
				return p
			})
		})
	}
}

// A link with a bandwidth says so.
func TestBitsPerSecond(t *testing.T) {
	w := simnet.New(1)
	require.Zero(t, w.Link("a", addrA).BitsPerSecond())
	require.InEpsilon(t, 25e9, w.Link("b", addrB, simnet.Bandwidth(25e9)).BitsPerSecond(), 1e-12)
}
