package udp

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// A link of the own host takes what comes from there by any of its addresses; what
// comes from the wire neither arrives nor is answered: no ICMP error leaves.
func TestOwnHostIPv4(t *testing.T) { testOwnHost(t, "10.9.0.1", "10.9.0.3", "10.9.0.2") }
func TestOwnHostIPv6(t *testing.T) { testOwnHost(t, "fd00::1", "fd00::3", "fd00::2") }

func testOwnHost(t *testing.T, own, other, outside string) {
	enterNamespace(t)
	va, vb := addVeth(t)
	for _, a := range []string{own, other} {
		if a != "10.9.0.1" { // addVeth added it
			addAddress(t, va, netip.PrefixFrom(addr(a), addr(a).BitLen()*3/4).String())
		}
	}
	peer := outsider(t, va, vb, addr(outside))
	a, err := Open(addr(own), OwnHost())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	b := open(t, addr(other))
	p := path(t, b, a)
	const rounds = 20
	for i := range byte(rounds) {
		peer.send(a.addr, wire.Port)
		put(b.queue, p, 12, i, nil, 0, true)
		flush(t, b.queue)
		frames, metas := await(a.queue, 1)
		require.Equal(t, i, frames[0][0])
		require.Equal(t, b.addr, metas[0].Src)
	}
	require.Equal(t, uint64(rounds), a.Stats().Received)
	require.Equal(t, uint64(rounds), a.queue.socketDrops(), "the filter saw the packets from the wire")
	require.Zero(t, a.Stats().Overrun, "which is no overrun")

	const nobodys = 4790
	peer.send(a.addr, nobodys)
	require.Equal(t, uint16(nobodys), peer.unreachablePort(), "the first ICMP error of all is about the port that nobody has")
}

// wirePeer is a host at the other end of a veth pair, made of a packet socket.
type wirePeer struct {
	t        *testing.T
	fd       int
	self     netip.Addr
	from, to wire.MAC
}

// outsider is a peer at vb with an address that va's host knows as a neighbour.
func outsider(t *testing.T, va, vb netlink.Link, self netip.Addr) wirePeer {
	t.Helper()
	addNeighbour(t, va, vb, self)
	p := wirePeer{t: t, fd: sniffAll(t, vb), self: self}
	copy(p.from[:], vb.Attrs().HardwareAddr)
	copy(p.to[:], va.Attrs().HardwareAddr)
	return p
}

// send sends a UDP datagram.
func (p wirePeer) send(dst netip.Addr, port uint16) {
	p.t.Helper()
	payload := make([]byte, 16)
	h := wire.Headers{
		SrcMAC: p.from, DstMAC: p.to, Src: p.self, Dst: dst, HopLimit: 64,
		SrcPort: wire.Port, DstPort: port,
	}
	ip := h.AppendIP(nil, len(payload))
	udp := len(ip) - wire.UDPLen
	h.Checksum = wire.UDPChecksum(ip[:udp], ip[udp:], payload)
	_, err := unix.Write(p.fd, append(h.AppendFrame(nil, len(payload)), payload...))
	require.NoError(p.t, err)
}

// unreachablePort waits for an ICMP port unreachable and returns which port that was.
func (p wirePeer) unreachablePort() uint16 {
	p.t.Helper()
	b := make([]byte, 1<<16)
	for {
		n, err := unix.Read(p.fd, b)
		require.NoError(p.t, err)
		ip := b[wire.EthernetLen:n]
		var quoted []byte // the IP packet that the error is about, from its UDP header on
		switch {
		case p.self.Is4() && ip[0]>>4 == 4 && ip[9] == unix.IPPROTO_ICMP && ip[20] == 3 && ip[21] == 3:
			quoted = ip[wire.IPv4Len+8+wire.IPv4Len:]
		case p.self.Is6() && ip[0]>>4 == 6 && ip[6] == unix.IPPROTO_ICMPV6 && ip[40] == 1 && ip[41] == 4:
			quoted = ip[wire.IPv6Len+8+wire.IPv6Len:]
		default:
			continue
		}
		return binary.BigEndian.Uint16(quoted[2:])
	}
}

// sniffAll is a packet socket that sends and sees Ethernet frames of an interface.
func sniffAll(t *testing.T, itf netlink.Link) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("being a host needs CAP_NET_RAW: AF_PACKET socket: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{
		Protocol: swapOrder(unix.ETH_P_ALL), Ifindex: itf.Attrs().Index}))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	return fd
}
