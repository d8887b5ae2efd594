package netns_test

import (
	"io"
	"net"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// Both hosts reach each other as soon as the street is made, over both families.
func TestHostsReachEachOther(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	for _, addrs := range [][2]netip.Addr{{s.A.IPv4, s.B.IPv4}, {s.A.IPv6, s.B.IPv6}} {
		var listener net.Listener
		var from net.Conn
		require.NoError(t, s.B.Do(func() (err error) {
			listener, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addrs[1], 7)))
			return err
		}))
		require.NoError(t, s.A.Do(func() (err error) {
			from, err = net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(addrs[1], 7)))
			return err
		}))
		to, err := listener.Accept()
		require.NoError(t, err)
		_, err = from.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, from.Close())
		got, err := io.ReadAll(to)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
		require.NoError(t, to.Close())
		require.NoError(t, listener.Close())
	}
}

func TestOptions(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200, Queues: 3})
	for _, h := range []*netns.Host{s.A, s.B} {
		require.NoError(t, h.Do(func() error {
			l, err := netlink.LinkByName(h.Interface)
			require.NoError(t, err)
			require.Equal(t, []int{4200, 3, 3}, []int{l.Attrs().MTU, l.Attrs().NumRxQueues, l.Attrs().NumTxQueues})
			return nil
		}))
	}
}

// A namespace ends when it is let go: its interfaces go with it, and with an end of
// a veth pair goes the other.
func TestNothingIsLeft(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	updates, done := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	defer close(done)
	require.NoError(t, s.B.Do(func() error { return netlink.LinkSubscribe(updates, done) }))
	require.NoError(t, s.A.Netns.Close())
	for u := range updates {
		if u.Header.Type == unix.RTM_DELLINK && u.Attrs().Name == s.B.Interface {
			break
		}
	}
	again, err := netns.New()
	require.NoError(t, err)
	s.A.Netns = again // for the clean-up
}

func TestProgramsRunInside(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	out, err := s.B.Run(t.Context(), "cat", "/proc/net/dev")
	require.NoError(t, err)
	require.Contains(t, out, "vb:")
	require.NotContains(t, out, "va:")
	_, err = s.A.Run(t.Context(), "sh", "-c", "echo no such luck; exit 3")
	require.ErrorContains(t, err, "no such luck")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
}
