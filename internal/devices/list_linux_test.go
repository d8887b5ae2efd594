package devices

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/link/udp"
)

// list lists an interface of the host.
func list(t *testing.T, h *netns.Host, name string) (d Device) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		all, err := List(name)
		if err == nil {
			d = all[0]
		}
		return err
	}))
	return d
}

// verdicts are those on udp, raw and xdp.
func verdicts(d Device) (v [3]Verdict) {
	for n, name := range []string{"udp", "raw", "xdp"} {
		v[n] = d.link(name).Verdict
	}
	return v
}

func (d Device) link(name string) Link {
	for _, l := range d.Links {
		if l.Name == name {
			return l
		}
	}
	return Link{}
}

func TestDeviceOfAVethEnd(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	d := list(t, s.A, "va")
	require.Equal(t, [3]Verdict{Works, Works, Untried}, verdicts(d), d.Links)
	require.Equal(t, "ACTIVE", d.State)
	require.Equal(t, 1024, d.PathMTU)
	require.Equal(t, "veth", d.Driver)
	require.Equal(t, []string{"::ffff:10.9.0.1", "fd09::1"}, []string{d.GIDs[1].GID, d.GIDs[2].GID})
	require.Equal(t, "RoCE v2, IPv6 link-local", d.GIDs[0].Type)
	require.Contains(t, d.GIDs[0].Address, "%va")
	require.NoError(t, s.A.Do(func() error {
		_, err := List("vx")
		require.EqualError(t, err, `no network interface "vx"; there are lo, va`)
		all, err := List()
		require.Len(t, all, 2)
		return err
	}))
}

func TestDeviceOfTheLoopback(t *testing.T) {
	d := list(t, netnstest.NewStreet(t, netns.Options{}).A, "lo")
	require.Equal(t, [3]Verdict{Works, Fails, Fails}, verdicts(d), d.Links)
	require.Contains(t, d.link("raw").Note, "use the udp link")
}

func TestTakenPortIsTold(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	hold := func(addr netip.Addr) {
		t.Helper()
		require.NoError(t, s.A.Do(func() error {
			c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 4791)))
			if err == nil {
				t.Cleanup(func() { c.Close() })
			}
			return err
		}))
	}
	hold(s.A.IPv4)
	d := list(t, s.A, "va")
	require.Equal(t, [3]Verdict{Works, Works, Untried}, verdicts(d), d.Links)
	require.Contains(t, d.link("udp").Note, "only on fe80::")
	require.Contains(t, d.link("udp").Note, udp.ErrPortInUse.Error())
	require.Contains(t, d.link("raw").Note, "not towards addresses of this host")
	require.Contains(t, d.link("xdp").Note, "not towards addresses of this host")

	hold(s.A.IPv6)
	hold(netip.MustParseAddr(d.GIDs[0].Address))
	require.Equal(t, [3]Verdict{Fails, Works, Untried}, verdicts(list(t, s.A, "va")))
}

func TestAnotherXDPProgramIsTold(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	index := list(t, s.A, "va").Index
	require.NoError(t, s.A.Do(func() error {
		f, err := bpf.Attach(bpf.Config{Interface: "va", Index: index, Queues: 1, Addrs: []netip.Addr{s.A.IPv4}, Mode: bpf.Generic})
		if err == nil {
			t.Cleanup(func() { f.Close() })
		}
		return err
	}))
	d := list(t, s.A, "va")
	require.Equal(t, [3]Verdict{Works, Works, Fails}, verdicts(d), d.Links)
	require.Contains(t, d.link("xdp").Note, "has an XDP program already")
	d.Probe()
	require.Len(t, d.Links, 3, "what cannot work is not probed")
}

func TestDisabledIPv6LeavesTheRest(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	require.NoError(t, s.A.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/va/disable_ipv6", []byte("1"), 0)
	}))
	d := list(t, s.A, "va")
	require.Equal(t, [3]Verdict{Works, Works, Untried}, verdicts(d), d.Links)
	require.Len(t, d.GIDs, 2)
	require.Contains(t, d.GIDs[0].Problem, "IPv6 is disabled")
}

// Without any privilege the kernel's UDP works, and the rest says what it misses.
func TestWithoutPrivileges(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	type result struct {
		all []Device
		err error
	}
	listed := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, without its capabilities
		var r result
		r.err = s.A.Do(func() error {
			head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			before, none := [2]unix.CapUserData{}, [2]unix.CapUserData{}
			err := unix.Capget(&head, &before[0])
			for n := range none {
				none[n].Permitted = before[n].Permitted // to get them back, for the way out
			}
			if err == nil {
				err = unix.Capset(&head, &none[0])
			}
			if err == nil {
				r.all, err = List("va")
				err = errors.Join(err, unix.Capset(&head, &before[0]))
			}
			return err
		})
		listed <- r
	}()
	r := <-listed
	require.NoError(t, r.err)
	d := r.all[0]
	require.Equal(t, [3]Verdict{Works, Fails, Fails}, verdicts(d), d.Links)
	require.Contains(t, d.link("raw").Note, "CAP_NET_RAW")
	for _, missing := range []string{"CAP_NET_RAW is missing", "needs CAP_NET_ADMIN", "needs CAP_BPF", "run as root"} {
		require.Contains(t, d.link("xdp").Note, missing)
	}
}

func TestProbe(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	require.NoError(t, s.A.Do(func() error {
		all, err := List("va")
		if err != nil {
			return err
		}
		all[0].Probe()
		links := all[0].Links
		require.Len(t, links, 5)
		for n, want := range []Link{
			{Name: "xdp", Way: "native, copy", Verdict: Works, Note: "single buffer, queues [0]"},
			{Name: "xdp", Way: "generic, copy", Verdict: Works, Note: "single buffer, queues [0]"},
		} {
			require.Equal(t, want, links[2+n])
		}
		require.Equal(t, Fails, links[4].Verdict)
		require.Contains(t, links[4].Note, "the driver has no zero-copy")

		all, err = List("va")
		require.Equal(t, Untried, all[0].link("xdp").Verdict, "the probes left nothing on the interface")
		return err
	}))
}

// A link that can be opened and sends nothing does not work: here the cable is pulled.
func TestProbeThatSendsNothing(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	_, err := s.B.Run(t.Context(), "ip", "link", "set", "dev", "vb", "down")
	require.NoError(t, err)
	require.NoError(t, s.A.Do(func() error {
		all, err := List("va")
		if err != nil {
			return err
		}
		all[0].Probe()
		for _, l := range all[0].Links[2:4] {
			require.Equal(t, Fails, l.Verdict, l.Way)
			require.Contains(t, l.Note, "va queue 0: the driver bound the socket but did not send")
		}
		return nil
	}))
}
