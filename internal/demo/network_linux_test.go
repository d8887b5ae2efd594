package demo

import (
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// A socket may have an address to which there is no route: the simulated network
// stands in there too, and the note says what is missing. Here the loopback interface
// is down, and sockets may have addresses that the host lacks.
func TestSimulatesWhereThereIsNoRoute(t *testing.T) {
	testenv.Need(t, testenv.Root, testenv.Netns)
	runtime.LockOSThread() // never unlocked: the thread ends with the test, and its namespace with the thread
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/ip_nonlocal_bind", []byte("1"), 0))

	a, b := netip.MustParseAddr("127.67.0.2"), netip.MustParseAddr("127.67.0.3")
	linkA, linkB, err := openUDP(a, b)
	require.NoError(t, err, "the links can be opened")
	require.NoError(t, linkA.Close())
	require.NoError(t, linkB.Close())
	n, err := choose(Options{}, a, b)
	require.NoError(t, err)
	require.Equal(t, Sim, n.name)
	require.Contains(t, n.note, "no route from 127.67.0.2")
}
