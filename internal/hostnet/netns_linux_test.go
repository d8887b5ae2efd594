package hostnet

import (
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/wire"
)

// side is one of two hosts, which a veth pair joins.
type side struct {
	t *testing.T
	*netns.Host
	index int        // of its interface
	mac   wire.MAC   // likewise
	local netip.Addr // link-local address
}

// newSides makes two hosts: a with va, 10.9.0.1/24 and fd09::1/64, and b with vb,
// 10.9.0.2/24 and fd09::2/64. The test's goroutine stays outside both.
func newSides(t *testing.T) (a, b side) {
	t.Helper()
	s := netnstest.NewStreet(t, netns.Options{})
	return newSide(t, s.A), newSide(t, s.B)
}

func newSide(t *testing.T, h *netns.Host) side {
	t.Helper()
	s := side{t: t, Host: h}
	attrs := s.link(h.Interface).Attrs()
	s.index, s.mac = attrs.Index, wire.MAC(attrs.HardwareAddr)
	s.local = linkLocal(s.mac)
	return s
}

// do calls f on the test's goroutine, in the side's namespace.
func (s side) do(f func()) {
	s.t.Helper()
	require.NoError(s.t, s.Do(func() error { f(); return nil }))
}

// handle opens a handle in the namespace.
func (s side) handle() (h *Handle) {
	s.t.Helper()
	s.do(func() {
		var err error
		h, err = NewHandle()
		require.NoError(s.t, err)
	})
	s.t.Cleanup(func() { require.NoError(s.t, h.Close()) })
	return h
}

func (s side) link(name string) (l netlink.Link) {
	s.t.Helper()
	s.do(func() {
		var err error
		l, err = netlink.LinkByName(name)
		require.NoError(s.t, err)
	})
	return l
}

// add adds an interface to the namespace and skips the test where the kernel does not
// know its kind.
func (s side) add(l netlink.Link, option string) {
	s.t.Helper()
	s.do(func() {
		err := netlink.LinkAdd(l)
		if errors.Is(err, unix.EOPNOTSUPP) {
			s.t.Skipf("add a %s: %v; the kernel needs %s", l.Type(), err, option)
		}
		require.NoError(s.t, err)
	})
}

func (s side) up(name string) {
	s.t.Helper()
	l := s.link(name)
	s.do(func() { require.NoError(s.t, netlink.LinkSetUp(l)) })
}

func (s side) down(name string) {
	s.t.Helper()
	l := s.link(name)
	s.do(func() { require.NoError(s.t, netlink.LinkSetDown(l)) })
}

func (s side) addAddress(name, prefix string) {
	s.t.Helper()
	l := s.link(name)
	s.do(func() { require.NoError(s.t, netns.AddAddress(l, prefix)) })
}

func (s side) removeAddress(name, prefix string) {
	s.t.Helper()
	l := s.link(name)
	s.do(func() {
		a, err := netlink.ParseAddr(prefix)
		require.NoError(s.t, err)
		require.NoError(s.t, netlink.AddrDel(l, a))
	})
}

func (s side) addRoute(r netlink.Route) {
	s.t.Helper()
	s.do(func() { require.NoError(s.t, netlink.RouteAdd(&r)) })
}

// sysctl writes a variable, named by its path below /proc/sys.
func (s side) sysctl(name, value string) {
	s.t.Helper()
	s.do(func() { require.NoError(s.t, os.WriteFile("/proc/sys/"+name, []byte(value), 0)) })
}

// named are the attributes of a new interface.
func named(name string) netlink.LinkAttrs {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	return attrs
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
