package testwire

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/wire"
)

func newWire(t *testing.T, o netns.Options) *Wire {
	t.Helper()
	testenv.Need(t, testenv.Netns)
	w, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// families are the addresses of both hosts.
func families(w *Wire) [][2]netip.Addr {
	return [][2]netip.Addr{{w.A.IPv4, w.B.IPv4}, {w.A.IPv6, w.B.IPv6}}
}

// All that is no RoCEv2 packet passes as if there were no rules: neighbours are found,
// and TCP carries a megabyte, in super-frames of its own.
func TestOtherTrafficPasses(t *testing.T) {
	w := newWire(t, netns.Options{})
	w.Faults.Add(fault.Drop(fault.Match{}))
	for _, addrs := range families(w) {
		carry(t, w.A, w.B, addrs[1])
	}
	ab, ba := w.Counts()
	require.Equal(t, [2]Counts{}, [2]Counts{ab, ba})
}

// carry sends a megabyte over TCP to an address of another host.
func carry(t *testing.T, from, to *netns.Host, addr netip.Addr) {
	t.Helper()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	at := net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 7))
	var listener net.Listener
	require.NoError(t, to.Do(func() (err error) { listener, err = net.ListenTCP("tcp", at); return err }))
	var out net.Conn
	require.NoError(t, from.Do(func() (err error) { out, err = net.DialTCP("tcp", nil, at); return err }))
	in, err := listener.Accept()
	require.NoError(t, err)
	go func() {
		_, _ = out.Write(sent) // what is missing, the comparison shows
		out.Close()
	}()
	got, err := io.ReadAll(in)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent, got))
	require.NoError(t, in.Close())
	require.NoError(t, listener.Close())
}

// A super-frame of the kernel's is cut into packets, which meet the rules one by one,
// and which the other kernel takes: their checksums are right, but of the one with a
// flipped bit.
func TestRulesStrikeWithinSuperFrames(t *testing.T) {
	const size, packets = 100, 20
	w := newWire(t, netns.Options{})
	rules, err := fault.Parse(`
		drop any from a psn 3
		duplicate any psn 5
		reorder any psn 7 by 2
		corrupt any psn 11 bit -1
		drop any from b`)
	require.NoError(t, err)
	w.Faults.Add(rules...)
	for i, addrs := range families(w) {
		a, b := socket(t, w.A, addrs[0]), socket(t, w.B, addrs[1])
		sendSuper(t, a, addrs[1], packets, size)
		require.Equal(t, []uint32{0, 1, 2, 4, 5, 5, 6, 8, 9, 7, 10, 12, 13, 14, 15, 16, 17, 18, 19},
			psns(t, b, packets-1, size))
		ab, ba := w.Counts()
		k := uint64(i + 1)
		require.Equal(t, Counts{Packets: k * packets, Struck: k * 4, Forwarded: k * packets}, ab)
		require.Equal(t, Counts{}, ba)
	}
	for i, hits := range []int{2, 2, 2, 2, 0} {
		require.Equal(t, hits, w.Faults.Hits(rules[i]), "%v", rules[i])
	}
}

// socket is the kernel's UDP socket for RoCEv2 packets on a host.
func socket(t *testing.T, h *netns.Host, addr netip.Addr) (c *net.UDPConn) {
	t.Helper()
	require.NoError(t, h.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, wire.Port)))
		return err
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

// sendSuper sends so many packets of a size, with PSNs from 0, as one super-frame.
func sendSuper(t *testing.T, c *net.UDPConn, to netip.Addr, packets, size int) {
	t.Helper()
	var burst []byte
	for psn := range packets {
		packet := make([]byte, size)
		(&bth.Packet{Opcode: bth.RCSendMiddle, PSN: bth.PSN(psn)}).PutHeaders(packet)
		burst = append(burst, packet...)
	}
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size)
	}))
	require.NoError(t, err)
	_, err = c.WriteToUDPAddrPort(burst, netip.AddrPortFrom(to, wire.Port))
	require.NoError(t, err)
}

// psns takes so many packets of a size, and returns their PSNs.
func psns(t *testing.T, c *net.UDPConn, packets, size int) (list []uint32) {
	t.Helper()
	buf := make([]byte, 2*size)
	for range packets {
		n, err := c.Read(buf)
		require.NoError(t, err)
		require.Equal(t, size, n)
		var p bth.Packet
		require.NoError(t, p.ParseBTH(buf))
		list = append(list, uint32(p.PSN))
	}
	return list
}

// A closed wire leaves neither descriptors nor goroutines, even while it holds packets
// up.
func TestWireLeavesNothing(t *testing.T) {
	newWire(t, netns.Options{}) // what is opened once for all
	const rounds = 10
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range rounds {
		w, err := New(netns.Options{})
		require.NoError(t, err)
		w.Faults.Add(fault.Delay(fault.Match{}, 1e15))
		w.halves[0].Pass(nil, frameOf(paths[0], 1))
		ab, _ := w.Counts()
		require.EqualValues(t, 1, ab.Waiting)
		require.NoError(t, w.Close())
	}
	// A leak is one for each round. A goroutine that has done all may still be ending.
	require.Equal(t, files, openFiles(t))
	require.Less(t, runtime.NumGoroutine(), goroutines+rounds)
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	return len(files)
}
