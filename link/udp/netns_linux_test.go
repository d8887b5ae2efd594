package udp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/sockopt"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// enterNamespace puts the test's goroutine into a network namespace of its own, with
// the loopback interface up. Subtests would run outside it.
func enterNamespace(t *testing.T) {
	t.Helper()
	testenv.Need(t, testenv.Netns)
	runtime.LockOSThread()
	outside, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	t.Cleanup(func() {
		require.NoError(t, unix.Setns(outside, unix.CLONE_NEWNET))
		unix.Close(outside)
		runtime.UnlockOSThread()
	})
	up(t, "lo")
}

func up(t *testing.T, name string) netlink.Link {
	t.Helper()
	l, err := netns.SetUp(name)
	require.NoError(t, err)
	return l
}

func addAddress(t *testing.T, l netlink.Link, prefix string) {
	t.Helper()
	require.NoError(t, netns.AddAddress(l, prefix))
}

// addVeth adds the veth pair va, vb: va with 10.9.0.1/24, vb without address.
func addVeth(t *testing.T) (va, vb netlink.Link) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "va", 9000
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "vb", PeerMTU: 9000}))
	va, vb = setUp(t, "va", "vb")
	addAddress(t, va, "10.9.0.1/24")
	return va, vb
}

// setUp sets both ends of a veth pair up.
func setUp(t *testing.T, a, b string) (la, lb netlink.Link) {
	t.Helper()
	la, await, err := netns.SetUpFirst(a)
	require.NoError(t, err)
	lb, err = netns.SetUp(b)
	require.NoError(t, err)
	await()
	return la, lb
}

// addNeighbour tells va's host that an address is vb's.
func addNeighbour(t *testing.T, va, vb netlink.Link, a netip.Addr) {
	t.Helper()
	require.NoError(t, netlink.NeighSet(&netlink.Neigh{
		LinkIndex: va.Attrs().Index, IP: net.IP(a.AsSlice()),
		HardwareAddr: vb.Attrs().HardwareAddr, State: netlink.NUD_PERMANENT,
	}))
}

// sniffer sees the IP packets that arrive at an interface.
type sniffer struct {
	t  *testing.T
	fd int
}

func sniff(t *testing.T, itf netlink.Link) sniffer {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("seeing IP headers needs CAP_NET_RAW: AF_PACKET socket: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	var protocol [2]byte
	binary.BigEndian.PutUint16(protocol[:], unix.ETH_P_IP)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{
		Protocol: binary.NativeEndian.Uint16(protocol[:]), Ifindex: itf.Attrs().Index}))
	sockopt.GrowReceive(fd, wantReceive)
	// A packet that does not come is a failure, not a hang.
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	return sniffer{t, fd}
}

// next returns the next IPv4 packet that arrives with UDP port 4791.
func (s sniffer) next() []byte {
	b := make([]byte, 1<<16)
	for {
		n, from, err := unix.Recvfrom(s.fd, b, 0)
		require.NoError(s.t, err)
		arrived := from.(*unix.SockaddrLinklayer).Pkttype != unix.PACKET_OUTGOING
		if arrived && b[9] == unix.IPPROTO_UDP && binary.BigEndian.Uint16(b[22:]) == 4791 {
			return b[:n]
		}
	}
}

func identification(ip []byte) uint16 { return binary.BigEndian.Uint16(ip[4:]) }
func flags(ip []byte) uint16          { return binary.BigEndian.Uint16(ip[6:]) }

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
