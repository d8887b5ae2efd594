package xdp

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/wire"
)

// The host lives on beside the link: while RoCEv2 runs on the interface in both
// directions, TCP, ping, ARP and neighbour discovery, DHCP's broadcasts, and UDP port
// 4791 of addresses that are not the link's work as ever. [X09]
func TestHostLivesOn(t *testing.T) {
	for _, option := range []Option{Native(), Generic()} {
		s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
		a, b := openOn(t, s.A, option, Addrs(s.A.IPv4)), openOn(t, s.B, option, Addrs(s.B.IPv4))
		stop := startTraffic(t, a, b)
		for range 5 {
			forgetNeighbours(t, s.A)
			forgetNeighbours(t, s.B)
			ping(t, s.A, s.A.IPv4, s.B.IPv4)
			ping(t, s.A, s.A.IPv6, s.B.IPv6)
			dhcp(t, s)
			transfer(t, s, 1<<20)
			foreignPort(t, s)
		}
		t.Logf("%d packets each way meanwhile", stop())
		require.Equal(t, uint64(5), counter(b, "xdp: passed to the host, not to this link's addresses"))
	}
}

// startTraffic throws packets to and fro until stop is called, which says how many.
func startTraffic(t *testing.T, a, b *Link) (stop func() int) {
	ab, ba := pathTo(t, a, b), pathTo(t, b, a)
	var wg sync.WaitGroup
	done := make(chan struct{})
	rounds := 0
	wg.Go(func() {
		payload := make([]byte, 4096)
		for {
			select {
			case <-done:
				return
			default:
			}
			put(a.Queue(), ab, 1, payload)
			_, _ = a.Queue().Flush()
			await(t, b.Queue(), 1)
			put(b.Queue(), ba, 2, payload)
			_, _ = b.Queue().Flush()
			await(t, a.Queue(), 1)
			a.Queue().Room()
			b.Queue().Room()
			rounds++
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		return rounds
	}
}

// forgetNeighbours empties the neighbour table, as ip neigh flush does.
func forgetNeighbours(t *testing.T, h *netns.Host) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		l, err := netlink.LinkByName(h.Interface)
		if err != nil {
			return err
		}
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			neighbours, err := netlink.NeighList(l.Attrs().Index, family)
			if err != nil {
				return err
			}
			for _, n := range neighbours {
				if n.State&netlink.NUD_NOARP == 0 {
					_ = netlink.NeighDel(&n) // it may have gone by itself
				}
			}
		}
		return nil
	}))
}

// limit has what does not come fail the test, not hang it.
func limit(t *testing.T, c interface{ SetDeadline(time.Time) error }) {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
}

// ping sends an ICMP echo request and waits for the answer.
func ping(t *testing.T, h *netns.Host, from, to netip.Addr) {
	t.Helper()
	network, request, answer := "ip4:icmp", byte(8), byte(0)
	if to.Is6() {
		network, request, answer = "ip6:ipv6-icmp", 128, 129
	}
	message := []byte{request, 0, 0, 0, 0x12, 0x34, 0, 1, 'r', 'o', 'c', 'e'}
	if to.Is4() { // the kernel computes ICMPv6's
		sum := uint32(0)
		for i := 0; i < len(message); i += 2 {
			sum += uint32(message[i])<<8 | uint32(message[i+1])
		}
		sum = ^(sum>>16 + sum&0xffff)
		message[2], message[3] = byte(sum>>8), byte(sum)
	}
	var c *net.IPConn
	require.NoError(t, h.Do(func() (err error) {
		c, err = net.DialIP(network, &net.IPAddr{IP: from.AsSlice()}, &net.IPAddr{IP: to.AsSlice()})
		return err
	}))
	defer c.Close()
	limit(t, c)
	_, err := c.Write(message)
	require.NoError(t, err)
	for b := make([]byte, 100); ; {
		n, _, err := c.ReadFrom(b) // without the IP header
		require.NoError(t, err)
		if b[0] == answer && bytes.Equal(b[4:n], message[4:]) {
			return
		}
	}
}

// dhcp has A broadcast to UDP port 67, and B answer to port 68.
func dhcp(t *testing.T, s *netns.Street) {
	t.Helper()
	client, server := listenUDP(t, s.A, ":68"), listenUDP(t, s.B, ":67")
	defer client.Close()
	defer server.Close()
	_, err := client.WriteTo([]byte("discover"), &net.UDPAddr{IP: net.IPv4bcast, Port: 67})
	require.NoError(t, err)
	b := make([]byte, 100)
	n, from, err := server.ReadFrom(b)
	require.NoError(t, err)
	require.Equal(t, "discover", string(b[:n]))
	_, err = server.WriteTo([]byte("offer"), from)
	require.NoError(t, err)
	n, _, err = client.ReadFrom(b)
	require.NoError(t, err)
	require.Equal(t, "offer", string(b[:n]))
}

// listenUDP opens a socket on the host's interface that may broadcast.
func listenUDP(t *testing.T, h *netns.Host, address string) (c net.PacketConn) {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		raw.Control(func(fd uintptr) {
			if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1); err == nil {
				err = unix.BindToDevice(int(fd), h.Interface)
			}
		})
		return err
	}}
	require.NoError(t, h.Do(func() (err error) {
		c, err = config.ListenPacket(context.Background(), "udp4", address)
		return err
	}))
	limit(t, c)
	return c
}

// transfer sends bytes from A to B by TCP.
func transfer(t *testing.T, s *netns.Street, size int) {
	t.Helper()
	var l net.Listener
	require.NoError(t, s.B.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(s.B.IPv4, 0).String())
		return err
	}))
	defer l.Close()
	var out net.Conn
	require.NoError(t, s.A.Do(func() (err error) {
		out, err = net.Dial("tcp", l.Addr().String())
		return err
	}))
	defer out.Close()
	in, err := l.Accept()
	require.NoError(t, err)
	defer in.Close()
	limit(t, out)
	limit(t, in)
	data := make([]byte, size)
	r := random(t)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = out.Write(data)
		out.Close()
	})
	got, err := io.ReadAll(in)
	wg.Wait()
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got), "what TCP carried")
}

// foreignPort sends to port 4791 of an address of B that is not the link's: it is the
// host's.
func foreignPort(t *testing.T, s *netns.Street) {
	t.Helper()
	var c net.PacketConn
	require.NoError(t, s.B.Do(func() (err error) {
		c, err = net.ListenPacket("udp", net.JoinHostPort(s.B.IPv6.String(), strconv.Itoa(wire.Port)))
		return err
	}))
	defer c.Close()
	limit(t, c)
	require.NoError(t, sendUDP(s.A, s.A.IPv6, s.B.IPv6, []byte("host")))
	b := make([]byte, 100)
	n, _, err := c.ReadFrom(b)
	require.NoError(t, err)
	require.Equal(t, "host", string(b[:n]))
}
