package xdp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bpf"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/link"
)

// hasProgram reports whether an XDP program is on the host's interface.
func hasProgram(t *testing.T, h *netns.Host) (has bool) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		has = err == nil && l.Attrs().Xdp != nil && l.Attrs().Xdp.Attached
		return err
	}))
	return has
}

func indexOf(t *testing.T, h *netns.Host) (index int) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		index = l.Attrs().Index
		return err
	}))
	return index
}

// Closed and opened again at once, in the same process, the queue is free; and
// nothing is left attached in between. [X01]
func TestReopen(t *testing.T) {
	t.Parallel() // most of it is waiting for the kernel
	for _, option := range []Option{Native(), Generic()} {
		s := netnstest.NewStreet(t, netns.Options{MTU: 4200, Queues: 2})
		b := openOn(t, s.B, option)
		for i := range 10 {
			a, err := tryOpen(s.A, option)
			require.NoError(t, err)
			p := pathTo(t, a, b)
			send(t, a.Queue(), p, byte(i), make([]byte, 4096))
			require.Equal(t, []byte{byte(i)}, await(t, b.Queue(), 1))
			require.NoError(t, a.Close())
			require.False(t, hasProgram(t, s.A))
		}
	}
}

// A queue that has a socket already: the error names interface, queue and owner. A
// link of ours on the interface is met earlier, by its program. [X01]
func TestQueueInUse(t *testing.T) {
	t.Parallel() // it takes two seconds to refuse a queue
	s := netnstest.NewStreet(t, netns.Options{})
	require.NoError(t, s.A.Do(func() error {
		other, err := openSocket(binding{itf: "va", index: indexOf(t, s.A), flags: unix.XDP_COPY})
		require.NoError(t, err)
		_, err = Open("va")
		require.ErrorIs(t, err, unix.EBUSY)
		require.ErrorContains(t, err, "va queue 0")
		require.ErrorContains(t, err, "this process")
		t.Log(err)
		return other.close()
	}))
	require.False(t, hasProgram(t, s.A))

	holder := start(t, s.A)
	require.Equal(t, "open", holder.first)
	_, err := tryOpen(s.A)
	require.ErrorIs(t, err, bpf.ErrOccupied)
	t.Log(err)
	require.NoError(t, s.A.Do(func() error {
		_, err := openSocket(binding{itf: "va", index: indexOf(t, s.A), flags: unix.XDP_COPY})
		require.ErrorIs(t, err, unix.EBUSY)
		require.ErrorContains(t, err, fmt.Sprintf("process %d", holder.Process.Pid))
		t.Log(err)
		return nil
	}))
}

// A process that is killed leaves nothing, and its queue can be had at once.
func TestKilled(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 9000})
	b := openOn(t, s.B)
	for range 3 {
		p := start(t, s.A)
		require.Equal(t, "open", p.first)
		require.True(t, hasProgram(t, s.A))
		p.kill()
		require.False(t, hasProgram(t, s.A))
		a, err := tryOpen(s.A)
		require.NoError(t, err)
		send(t, a.Queue(), pathTo(t, a, b), 7, nil)
		require.Equal(t, []byte{7}, await(t, b.Queue(), 1))
		require.NoError(t, a.Close())
	}
}

// Queues that the interface has not. [X01]
func TestNoSuchQueue(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{Queues: 2})
	for _, q := range []int{-1, 2, 99} {
		_, err := tryOpen(s.A, Queues(0, q))
		require.ErrorContains(t, err, fmt.Sprintf("va has no receive queue %d: it has 2", q))
		t.Log(err)
	}
	require.NoError(t, s.A.Do(func() error {
		_, err := openSocket(binding{itf: "va", index: indexOf(t, s.A), queue: 2})
		require.ErrorIs(t, err, unix.EINVAL)
		t.Log(err)
		return nil
	}))
}

// What was got is what is said. veth has no zero-copy: forced it is an error, else
// packets are copied. [X02]
func TestSetup(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 9000, Queues: 2})
	_, err := tryOpen(s.A, ZeroCopy())
	require.ErrorIs(t, err, unix.EOPNOTSUPP)
	require.ErrorContains(t, err, "va queue 0")
	t.Log(err)
	require.False(t, hasProgram(t, s.A))

	for _, c := range []struct {
		options []Option
		want    Setup
		mtu     int
	}{
		{nil, Setup{Mode: bpf.Native, MultiBuffer: true, Queues: []int{0, 1}}, 9000},
		{[]Option{Copy(), Generic(), Queues(1)}, Setup{Mode: bpf.Generic, MultiBuffer: true, Queues: []int{1}}, 9000},
		{[]Option{SingleBuffer()}, Setup{Mode: bpf.Native, Queues: []int{0, 1}}, 3502},
	} {
		l, err := tryOpen(s.A, c.options...)
		require.NoError(t, err)
		got := l.Setup()
		t.Log(got)
		require.Equal(t, c.mtu, l.MTU())
		got.WhyCopy = nil
		require.Equal(t, c.want, got)
		require.NoError(t, l.Close())
	}
	l := openOn(t, s.A)
	require.Error(t, l.Setup().WhyCopy)
}

// In single buffers the largest path MTU is 2048, and its packets pass an interface
// whose own MTU is larger.
func TestSingleBuffer(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 3500})
	for _, option := range []Option{Native(), Generic()} {
		a, b := openOn(t, s.A, option, SingleBuffer()), openOn(t, s.B, option, SingleBuffer())
		require.Equal(t, 2048, link.PathMTU(a.MTU()))
		p := pathTo(t, a, b)
		for i := range 100 {
			send(t, a.Queue(), p, byte(i), make([]byte, 2048))
			require.Equal(t, []byte{byte(i)}, await(t, b.Queue(), 1))
		}
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	}
}

// The limit of locked memory counts for who has not CAP_IPC_LOCK: it is raised with
// CAP_SYS_RESOURCE, or up to the hard limit; else the error says what is wanted. [X04]
func TestMemlock(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	var own unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &own))
	const little, enough = 65536, 2 * umemSize
	const ipcLock, sysResource = unix.CAP_IPC_LOCK, unix.CAP_SYS_RESOURCE
	for _, c := range []struct {
		name string
		hard uint64
		drop []int
		want string
	}{
		{"not needed", little, []int{sysResource}, "open"},
		{"raised", little, []int{ipcLock}, "open"},
		{"raised to the hard limit", enough, []int{ipcLock, sysResource}, "open"},
		{"too small", little, []int{ipcLock, sysResource}, fmt.Sprint(umemSize, " bytes are wanted")},
	} {
		t.Run(c.name, func(t *testing.T) {
			raises := !slices.Contains(c.drop, sysResource) || c.hard > own.Max
			if raises && !permitted(t, sysResource) {
				t.Skipf("needs CAP_SYS_RESOURCE: the hard limit of locked memory here is %d bytes", own.Max)
			}
			p := start(t, s.A, memlockEnv+"="+fmt.Sprint(little, " ", c.hard), dropEnv+"="+strings.Trim(fmt.Sprint(c.drop), "[]"))
			t.Log(p.first)
			if c.want == "open" {
				require.Equal(t, c.want, p.first)
			}
			require.Contains(t, p.first, c.want)
			p.kill()
		})
	}
	require.False(t, hasProgram(t, s.A))
}

// permitted reports whether the process has a capability.
func permitted(t *testing.T, n int) bool {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &caps[0]))
	return caps[n/32].Permitted&(1<<(n%32)) != 0
}

// Privileges that are missing are named.
func TestPrivileges(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	for name, drop := range map[string]int{"CAP_NET_RAW": unix.CAP_NET_RAW, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN} {
		p := start(t, s.A, dropEnv+"="+fmt.Sprint(drop, unix.CAP_SYS_ADMIN))
		t.Log(p.first)
		require.Contains(t, p.first, name)
	}
}

// On a bond the native mode would open and receive nothing: it is refused, and not taken
// by itself.
func TestBondHasGenericModeOnly(t *testing.T) {
	for _, c := range []struct {
		asked, got bpf.Mode
	}{{bpf.Auto, bpf.Generic}, {bpf.Generic, bpf.Generic}} {
		mode, err := (&config{mode: c.asked}).modeOn("bond0", true)
		require.NoError(t, err)
		require.Equal(t, c.got, mode)
	}
	_, err := (&config{mode: bpf.Native}).modeOn("bond0", true)
	require.ErrorContains(t, err, "bond0 is a bond: its members receive the packets")
	t.Log(err)
	mode, err := (&config{mode: bpf.Native}).modeOn("eth0", false)
	require.NoError(t, err)
	require.Equal(t, bpf.Native, mode)
}
