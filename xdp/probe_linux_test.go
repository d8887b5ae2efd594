package xdp

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// listenForProbes makes a socket that gets what arrives at a host's interface with the
// EtherType of probes.
func listenForProbes(t *testing.T, h *netns.Host) (fd int) {
	t.Helper()
	index := indexOf(t, h)
	require.NoError(t, h.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	}))
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	const networkOrder = probeEtherType>>8 | probeEtherType&0xff<<8
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder, Ifindex: index}))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	return fd
}

func macOf(t *testing.T, h *netns.Host) (mac []byte) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		mac = l.Attrs().HardwareAddr
		return err
	}))
	return mac
}

func probeOn(t *testing.T, h *netns.Host, opts ...Option) (setup Setup, err error) {
	t.Helper()
	_ = h.Do(func() error {
		setup, err = Probe(h.Interface, opts...)
		return nil
	})
	return setup, err
}

// A probe sends one frame, which arrives whole at the other end, and leaves nothing
// behind. [X02]
func TestProbe(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	arrives, mac := listenForProbes(t, s.B), macOf(t, s.A)
	for _, option := range []Option{Native(), Generic()} {
		setup, err := probeOn(t, s.A, option)
		require.NoError(t, err)
		t.Log(setup)
		frame := make([]byte, 100)
		n, _, err := unix.Recvfrom(arrives, frame, 0)
		require.NoError(t, err)
		require.Equal(t, slices.Concat(mac, mac, []byte{0x88, 0xb5}), frame[:14], "to and from the interface's MAC")
		require.Equal(t, make([]byte, 46), frame[14:n])
		_, _, err = unix.Recvfrom(arrives, frame, unix.MSG_DONTWAIT)
		require.Equal(t, unix.EAGAIN, err, "one frame alone")
		require.False(t, hasProgram(t, s.A))
	}
}

// A socket that can be bound and sends nothing is no link that works. [X02]
func TestProbeThatSendsNothing(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	for _, c := range []struct {
		cut  *netns.Host
		says string
	}{
		{s.B, "the driver bound the socket but did not send: is there a cable?"},
		{s.A, "the interface is down"},
	} {
		_, err := c.cut.Run(t.Context(), "ip", "link", "set", "dev", c.cut.Interface, "down")
		require.NoError(t, err)
		_, err = probeOn(t, s.A, Addrs(s.A.IPv4))
		require.ErrorContains(t, err, "xdp: probe va: va queue 0: "+c.says)
		t.Log(err)
		require.False(t, hasProgram(t, s.A))
	}
}
