package raw

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
)

// namespace is a network namespace of the test's own, with loopback up.
type namespace struct {
	t testing.TB
	*netns.Netns
}

// do calls f on a thread in the namespace.
func (ns namespace) do(f func()) {
	ns.t.Helper()
	require.NoError(ns.t, ns.Do(func() error { f(); return nil }))
}

func up(t testing.TB, name string) netlink.Link {
	t.Helper()
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(l))
	return l
}

// network is two namespaces with a veth pair between them: va in a has 10.9.0.1,
// 10.9.0.3 and fd09::1, vb in b has 10.9.0.2, 10.9.0.4 and fd09::2.
type network struct {
	t    testing.TB
	a, b namespace
}

func newNetwork(t testing.TB, mtu int) *network {
	t.Helper()
	street := netnstest.NewStreet(t, netns.Options{MTU: mtu})
	w := &network{t, namespace{t, street.A.Netns}, namespace{t, street.B.Netns}}
	w.a.do(func() { addAddresses(t, "va", "10.9.0.3/24") })
	w.b.do(func() { addAddresses(t, "vb", "10.9.0.4/24") })
	return w
}

func addAddresses(t testing.TB, name string, prefixes ...string) {
	t.Helper()
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	for _, p := range prefixes {
		require.NoError(t, netns.AddAddress(l, p))
	}
}

// openA and openB open a link on one end, which has some of its addresses.
func (w *network) openA(opts ...Option) *Link { return openIn(w.a, "va", opts...) }
func (w *network) openB(opts ...Option) *Link { return openIn(w.b, "vb", opts...) }

func openIn(ns namespace, ifname string, opts ...Option) (l *Link) {
	ns.t.Helper()
	ns.do(func() {
		var err error
		l, err = Open(ifname, opts...)
		require.NoError(ns.t, err)
	})
	ns.t.Cleanup(func() { require.NoError(ns.t, l.Close()) })
	return l
}

// hasten has the kernel give up a neighbour on an interface within milliseconds.
func hasten(ns namespace, ifname string) {
	ns.t.Helper()
	change(ns, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/neigh/"+ifname+"/retrans_time_ms", []byte("10"), 0)
	})
}

// udpLink is a link of the kernel's UDP, which resolves in the namespace of the
// calling thread.
type udpLink struct {
	*udp.Link
	ns namespace
}

func openUDP(ns namespace, a string) udpLink {
	ns.t.Helper()
	u := udpLink{ns: ns}
	ns.do(func() {
		var err error
		u.Link, err = udp.Open(addr(a))
		require.NoError(ns.t, err)
	})
	ns.t.Cleanup(func() { require.NoError(ns.t, u.Close()) })
	return u
}

func (u udpLink) Resolve(p *wire.Path) (err error) {
	u.ns.do(func() { err = u.Link.Resolve(p) })
	return err
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// openFiles counts the process's file descriptors.
func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}
