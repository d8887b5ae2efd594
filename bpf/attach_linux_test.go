package bpf

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// inHost runs a test on the thread of a host with the interface va.
func inHost(t *testing.T, mtu int, test func(c Config)) {
	t.Helper()
	s := netnstest.NewStreet(t, netns.Options{MTU: mtu})
	require.NoError(t, s.A.Do(func() error {
		l, err := netlink.LinkByName("va")
		require.NoError(t, err)
		test(Config{Interface: "va", Index: l.Attrs().Index, Queues: 1, Addrs: []netip.Addr{s.A.IPv4}})
		return nil
	}))
}

// programOn is the ID of the program on an interface, 0: none.
func programOn(t *testing.T, c Config) uint32 {
	t.Helper()
	l, err := netlink.LinkByIndex(c.Index)
	require.NoError(t, err)
	if l.Attrs().Xdp == nil {
		return 0
	}
	return l.Attrs().Xdp.ProgId
}

func TestAttach(t *testing.T) {
	inHost(t, 1500, func(c Config) {
		for _, want := range []struct{ ask, get Mode }{{Auto, Native}, {Native, Native}, {Generic, Generic}} {
			c.Mode = want.ask
			f, err := Attach(c)
			require.NoError(t, err)
			require.Equal(t, want.get, f.Mode())
			require.NoError(t, f.WhyGeneric())
			require.True(t, f.MultiBuffer())
			require.NotZero(t, programOn(t, c))
			require.NoError(t, f.Close())
			require.Zero(t, programOn(t, c))
			require.Zero(t, f.Counts())
		}
	})
}

// A driver without XDP (the loopback interface's): generic unless native is a must.
func TestDriverWithoutXDP(t *testing.T) {
	inHost(t, 1500, func(c Config) {
		lo, err := netlink.LinkByName("lo")
		require.NoError(t, err)
		c.Interface, c.Index = "lo", lo.Attrs().Index
		f, err := Attach(c)
		require.NoError(t, err)
		require.Equal(t, Generic, f.Mode())
		require.ErrorIs(t, f.WhyGeneric(), unix.EOPNOTSUPP)
		t.Log(f.WhyGeneric())
		require.NoError(t, f.Close())

		c.Mode = Native
		_, err = Attach(c)
		require.ErrorIs(t, err, unix.EOPNOTSUPP)
		t.Log(err)
	})
}

// A kernel before Linux 5.18 has no program for several buffers, and then no native
// mode where packets need them.
func TestKernelWithoutMultiBuffer(t *testing.T) {
	inHost(t, 9000, func(c Config) {
		c.kernel = kernel{single: true}
		f, err := Attach(c)
		require.NoError(t, err)
		require.Equal(t, Generic, f.Mode())
		require.False(t, f.MultiBuffer())
		require.ErrorIs(t, f.WhyGeneric(), unix.ERANGE)
		t.Log(f.WhyGeneric())
		require.NoError(t, f.Close())
	})
}

// Whatever program is there, however it was attached: it stays, and the error names
// it.
func TestNeverEvicts(t *testing.T) {
	inHost(t, 1500, func(c Config) {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Name: "firewall", Type: ebpf.XDP, License: "MIT",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
		})
		require.NoError(t, err)
		defer p.Close()
		itf, err := netlink.LinkByIndex(c.Index)
		require.NoError(t, err)
		for _, other := range []link.XDPAttachFlags{link.XDPDriverMode, link.XDPGenericMode} {
			require.NoError(t, netlink.LinkSetXdpFdWithFlags(itf, p.FD(), int(other)))
			refused(t, c)
			require.NoError(t, netlink.LinkSetXdpFdWithFlags(itf, -1, int(other)))

			l, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: c.Index, Flags: other})
			require.NoError(t, err)
			refused(t, c)
			require.NoError(t, l.Close())
		}
	})
}

func refused(t *testing.T, c Config) {
	t.Helper()
	before := programOn(t, c)
	require.NotZero(t, before)
	for _, c.Mode = range []Mode{Auto, Native, Generic} {
		_, err := Attach(c)
		require.ErrorIs(t, err, ErrOccupied)
		require.ErrorContains(t, err, "va")
		require.ErrorContains(t, err, fmt.Sprintf(`id %d, name "firewall"`, before))
		require.Equal(t, before, programOn(t, c))
		t.Log(err)
	}
}

// An interface that one of ours is on.
func TestAttachTwice(t *testing.T) {
	inHost(t, 1500, func(c Config) {
		f, err := Attach(c)
		require.NoError(t, err)
		_, err = Attach(c)
		require.ErrorIs(t, err, ErrOccupied)
		t.Log(err)
		require.NoError(t, f.Close())
	})
}

// A kernel before Linux 5.9 has no XDP links, and says EINVAL. [X05]
func TestOldKernel(t *testing.T) {
	inHost(t, 1500, func(c Config) {
		c.kernel = kernel{
			attach:  func(link.XDPOptions) (link.Link, error) { return nil, unix.EINVAL },
			release: func() string { return "5.4.0-216-generic" },
		}
		_, err := Attach(c)
		require.ErrorIs(t, err, ErrKernel)
		t.Log(err)
		require.Zero(t, programOn(t, c))
	})
}
