package raw

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// While a link is flooded, the interface serves the rest of the host: TCP streams over
// IPv4 and IPv6, ARP and neighbour discovery after their tables were flushed, a broadcast
// exchange on UDP ports 67 and 68. None
// of it reaches the link, and no ICMP error answers what does.
func TestTheHostLivesOn(t *testing.T) {
	w := newNetwork(t, 1500)
	a, b := w.openA(), w.openB()
	seen := openTap(w.b, "vb") // what a's host sends
	ab, ba := resolved(t, a, "10.9.0.1", "10.9.0.2"), resolved(t, b, "10.9.0.2", "10.9.0.1")
	ab6, ba6 := resolved(t, a, "fd09::1", "fd09::2"), resolved(t, b, "fd09::2", "fd09::1")

	const size = 8 << 20
	sent := bytes.Repeat([]byte("not RDMA"), size/8)
	v4, sum4 := newStream(t, w, "10.9.0.2:7000")
	v6, sum6 := newStream(t, w, "[fd09::2]:7000")
	for part := range 8 {
		for _, stream := range []*net.TCPConn{v4, v6} {
			_, err := stream.Write(sent[part*size/8 : (part+1)*size/8])
			require.NoError(t, err)
		}
		exchange(t, a, b, ab, ba)
		exchange(t, a, b, ab6, ba6)
		flushNeighbours(w.a, "va")
		askBOOTP(t, w)
	}
	require.NoError(t, v4.CloseWrite())
	require.NoError(t, v6.CloseWrite())
	require.Equal(t, sha256.Sum256(sent), <-sum4)
	require.Equal(t, sha256.Sum256(sent), <-sum6)
	exchange(t, a, b, ab, ba)
	exchange(t, a, b, ab6, ba6)
	require.Empty(t, a.nic.Counters(), "all that came to the link was for it")

	arps, solicitations := 0, 0
	for _, frame := range seen.all() {
		switch {
		case isARP(frame):
			arps++
		case isSolicitation(frame):
			solicitations++
		}
		requireNoICMP(t, frame)
	}
	t.Logf("%d ARP packets, %d neighbour solicitations", arps, solicitations)
	require.Positive(t, arps, "the table was flushed")
	require.Positive(t, solicitations, "the table was flushed")
}

func isARP(frame []byte) bool { return frame[12] == 8 && frame[13] == 6 }

// isSolicitation reports whether a frame asks for the MAC of an IPv6 address (RFC 4861).
func isSolicitation(frame []byte) bool {
	const solicitation = 135
	ip := frame[wire.EthernetLen:]
	return frame[12] == 0x86 && frame[13] == 0xdd && ip[6] == unix.IPPROTO_ICMPV6 && ip[wire.IPv6Len] == solicitation
}

// newStream connects host a to a server on b, which tells the hash of what came.
func newStream(t *testing.T, w *network, at string) (stream *net.TCPConn, sum <-chan [sha256.Size]byte) {
	t.Helper()
	sum = serveTCP(t, w.b, at)
	stream = dialTCP(w.a, at).(*net.TCPConn)
	t.Cleanup(func() { stream.Close() })
	return stream, sum
}

// E14: packets for port 4791 of which the link's engine knows nothing are not answered by
// the kernel; those for another port are, which shows that the test could see it.
func TestNoICMPErrorLeaves(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"IPv4", "10.9.0.1", "10.9.0.2"},
		{"IPv6", "fd09::1", "fd09::2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newNetwork(t, 1500)
			a, x := w.openA(), openTap(w.b, "vb")
			h := x.headers(macOf(w.a, "va"), c.b, c.a)
			for tag := range byte(50) {
				f := rocePacket(h, tag, 64)
				ip := f[wire.EthernetLen:]
				udp := f[len(f)-12-64-wire.ICRCLen-wire.UDPLen:]
				h.Checksum = wire.UDPChecksum(ip, udp) // the kernel wants one of IPv6
				x.send(rocePacket(h, tag, 64))
				h.Checksum = 0
			}
			require.Len(t, await(t, a.queue, 50), 50)
			h.DstPort = wire.Port + 1
			f := rocePacket(h, 0, 64)
			h.Checksum = wire.UDPChecksum(f[wire.EthernetLen:], f[len(f)-12-64-wire.ICRCLen-wire.UDPLen:])
			x.send(rocePacket(h, 0, 64))
			for quoted := 0; quoted == 0; {
				frame, _ := x.next()
				if port, is := icmpError(frame); is {
					require.Equal(t, uint16(wire.Port+1), port)
					quoted++
				}
			}
		})
	}
}

func requireNoICMP(t *testing.T, frame []byte) {
	t.Helper()
	_, is := icmpError(frame)
	require.False(t, is, "ICMP error %x", frame)
}

// icmpError returns the UDP port that an ICMP error of any kind complains of.
func icmpError(frame []byte) (port uint16, is bool) {
	const inner = 8 // of the ICMP header
	ip := frame[wire.EthernetLen:]
	switch {
	case frame[12] == 8 && frame[13] == 0 && ip[9] == unix.IPPROTO_ICMP && ip[wire.IPv4Len] == 3:
		udp := ip[wire.IPv4Len+inner+wire.IPv4Len:]
		return uint16(udp[2])<<8 | uint16(udp[3]), true
	case frame[12] == 0x86 && frame[13] == 0xdd && ip[6] == unix.IPPROTO_ICMPV6 && ip[wire.IPv6Len] == 1:
		udp := ip[wire.IPv6Len+inner+wire.IPv6Len:]
		return uint16(udp[2])<<8 | uint16(udp[3]), true
	}
	return 0, false
}

// serveTCP takes one connection and tells the hash of what came.
func serveTCP(t *testing.T, ns namespace, at string) <-chan [sha256.Size]byte {
	var l net.Listener
	change(ns, func() (err error) {
		l, err = net.Listen("tcp", at)
		return err
	})
	t.Cleanup(func() { l.Close() })
	sum := make(chan [sha256.Size]byte, 1)
	go func() {
		defer close(sum)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		h := sha256.New()
		if _, err := io.Copy(h, c); err == nil {
			sum <- [sha256.Size]byte(h.Sum(nil))
		}
	}()
	return sum
}

func dialTCP(ns namespace, to string) (c net.Conn) {
	change(ns, func() (err error) {
		c, err = net.DialTimeout("tcp", to, patience)
		return err
	})
	return c
}

// flushNeighbours empties the table of neighbours, but for those that need no asking.
func flushNeighbours(ns namespace, ifname string) {
	change(ns, func() error {
		index := must(netlink.LinkByName(ifname)).Attrs().Index
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			for _, n := range must(netlink.NeighList(index, family)) {
				if n.State&netlink.NUD_NOARP != 0 {
					continue
				}
				if err := netlink.NeighDel(&n); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// askBOOTP broadcasts from port 68 to 67, and answers by broadcast.
func askBOOTP(t *testing.T, w *network) {
	t.Helper()
	client, server := broadcaster(w.a, "va", 68), broadcaster(w.b, "vb", 67)
	defer client.Close()
	defer server.Close()
	for _, leg := range []struct{ from, to *net.UDPConn }{{client, server}, {server, client}} {
		port := leg.to.LocalAddr().(*net.UDPAddr).AddrPort().Port()
		_, err := leg.from.WriteToUDPAddrPort([]byte("lease"), netip.AddrPortFrom(addr("255.255.255.255"), port))
		require.NoError(t, err)
		require.NoError(t, leg.to.SetReadDeadline(time.Now().Add(patience)))
		n, err := leg.to.Read(make([]byte, 16))
		require.NoError(t, err)
		require.Equal(t, 5, n)
	}
}

func broadcaster(ns namespace, ifname string, port int) (c *net.UDPConn) {
	change(ns, func() error {
		p, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		if err != nil {
			return err
		}
		c = p
		raw, err := p.SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), ifname) })
	})
	return c
}
