package link_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/wire"
)

// E14: below the kernel's IP nobody need hold UDP port 4791, and still the kernel
// answers no packet to it with an ICMP error: neither those that the device takes nor
// those that it drops. One to another port is answered, so the test would see it.
func TestNoICMPErrorAnswers(t *testing.T) {
	for _, name := range []string{"raw", "xdp"} {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			x, y := connect(t, openers["udp"], openers[name], s)
			seen, rnd := openTap(t, s.A), rand.New(rand.NewPCG(testenv.Seed(t), 0))
			writeOne(t, x, y, writeSize, rnd)
			for range 50 {
				sendUDP(t, s.A, netip.AddrPortFrom(s.B.IPv4, wire.Port), "no packet")
			}
			writeOne(t, x, y, writeSize, rnd)
			require.Contains(t, y.dev.Stats(), roce.Counter{Name: "received: packet shorter than its headers, pad and ICRC", Value: 50})
			sendUDP(t, s.A, netip.AddrPortFrom(s.B.IPv4, wire.Port+1), "to nobody")
			for answered := false; !answered; {
				for _, f := range seen.frames() {
					if port, is := unreachablePort(f); is {
						require.EqualValues(t, wire.Port+1, port)
						answered = true
					}
				}
			}
		})
	}
}

// sendUDP sends a datagram through a host's kernel.
func sendUDP(t *testing.T, h *netns.Host, to netip.AddrPort, text string) {
	t.Helper()
	require.NoError(t, h.Do(func() error {
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte(text))
		return err
	}))
}

const (
	icmpUnreachable = 3 // RFC 792: destination unreachable
	icmpLen         = 8 // header of an error
)

// unreachablePort is the UDP port that an ICMP error says nobody has.
func unreachablePort(f frame) (port uint16, is bool) {
	ip, v6, ok := f.isIP()
	if !ok || v6 || ip[9] != unix.IPPROTO_ICMP || ip[wire.IPv4Len] != icmpUnreachable {
		return 0, false
	}
	return binary.BigEndian.Uint16(ip[wire.IPv4Len+icmpLen+wire.IPv4Len+2:]), true
}

// E14: ICMP errors that come in for a device's packets, true or not, change nothing.
func TestICMPErrorsHarmNothing(t *testing.T) {
	for name := range openers {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			x, y := connect(t, openers[name], openers["udp"], s)
			rnd := rand.New(rand.NewPCG(testenv.Seed(t), 0))
			for code := range byte(16) { // also: host unreachable, fragmentation needed, prohibited
				complain(t, s.B, s.A, code)
				writeOne(t, x, y, 64, rnd)
			}
			writeOne(t, x, y, writeSize, rnd)
			require.Equal(t, roce.StateRTS, x.qp.State())
			require.Zero(t, x.qp.Stats().Retransmitted)
		})
	}
}

// complain sends an ICMP error of a kind about a packet of RoCEv2.
func complain(t *testing.T, from, about *netns.Host, code byte) {
	t.Helper()
	p := wire.Path{Src: about.IPv4, Dst: from.IPv4, SrcPort: wire.Port}
	h := p.Headers(0)
	quoted := h.AppendFrame(nil, 64)[wire.EthernetLen:]
	message := append([]byte{icmpUnreachable, code, 0, 0, 0, 0, 0x10, 0}, quoted[:wire.IPv4Len+wire.UDPLen]...)
	sum := uint32(0)
	for i := 0; i < len(message); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(message[i:]))
	}
	binary.BigEndian.PutUint16(message[2:], ^uint16(sum>>16+sum&0xffff))
	require.NoError(t, from.Do(func() error {
		c, err := net.DialIP("ip4:icmp", nil, &net.IPAddr{IP: about.IPv4.AsSlice()})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(message)
		return err
	}))
}
