package roce_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// vethLinks are the links that a veth pair carries, in the order of the tables.
var vethLinks = []struct {
	name string
	open func(*netns.Host) (link.Link, error)
}{
	{"udp", func(h *netns.Host) (link.Link, error) { return udp.Open(h.IPv4) }},
	{"raw", func(h *netns.Host) (link.Link, error) { return raw.Open(h.Interface) }},
	{"xdp", func(h *netns.Host) (link.Link, error) { return xdp.Open(h.Interface, xdp.Native()) }},
}

// BenchmarkLinks does over a veth pair between two network namespaces, with each link
// at both ends, what BenchmarkLatency and BenchmarkBandwidth do over loopback; so do
// its baselines.
func BenchmarkLinks(b *testing.B) {
	for _, l := range vethLinks {
		b.Run("SEND/poll/"+l.name, func(b *testing.B) {
			x, y := newVethPair(b, l.open, 2*smallSize, depth)
			exchange(b, newVerbs(b, x, poll), newVerbs(b, y, poll))
		})
		b.Run("SEND/wait/"+l.name, func(b *testing.B) {
			x, y := newVethPair(b, l.open, 2*smallSize, depth)
			exchange(b, newVerbs(b, x, wait), newVerbs(b, y, wait))
		})
		for _, mtu := range []int{1024, 4096} {
			b.Run(fmt.Sprintf("WRITE/%d/%s", mtu, l.name), func(b *testing.B) {
				x, y := newVethPair(b, l.open, depth*64*kib, depth, roce.WithPathMTU(mtu))
				move(b, roce.OpWrite, x, y, 64*kib)
			})
		}
	}
	b.Run("UDP/poll", func(b *testing.B) { one, two := newVethPlaces(b); pingSockets(b, one, two) })
	b.Run("UDP/wait", func(b *testing.B) { one, two := newVethPlaces(b); pingConns(b, one, two) })
	b.Run("TCP/64KiB", func(b *testing.B) { one, two := newVethPlaces(b); moveStream(b, one, two, 64*kib) })
}

// newVethPair is two devices in namespaces of their own, connected.
func newVethPair(b *testing.B, open func(*netns.Host) (link.Link, error), size, depth int, opts ...roce.ConnectOption) (x, y *end) {
	b.Helper()
	street := netnstest.NewStreet(b, roomy)
	openEnd := func(h *netns.Host) *end {
		var l link.Link
		require.NoError(b, h.Do(func() (err error) { l, err = open(h); return err }))
		return newBenchEnd(b, l, size, depth)
	}
	x, y = openEnd(street.A), openEnd(street.B)
	require.NoError(b, street.A.Do(func() error { return x.qp.Connect(y.qp.Info(), opts...) }))
	require.NoError(b, street.B.Do(func() error { return y.qp.Connect(x.qp.Info(), opts...) }))
	return x, y
}

// newVethPlaces is where the baselines open their sockets.
func newVethPlaces(b *testing.B) (one, two place) {
	b.Helper()
	street := netnstest.NewStreet(b, roomy)
	return place{street.A.Do, street.A.IPv4}, place{street.B.Do, street.B.IPv4}
}

// roomy are streets with room for packets of 4 KiB.
var roomy = netns.Options{MTU: 4200}
