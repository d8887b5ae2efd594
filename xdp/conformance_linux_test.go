package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/wire"
)

// Both modes of the program, both families, MTUs where packets fit one chunk, just
// need two, and are jumbo frames. The short form runs half of them, so that each two
// still meet, and how they sleep, which is alike, once.
func TestConformance(t *testing.T) {
	run := linktest.Run
	for i, mtu := range []int{1500, 4200, 9000} {
		for k, mode := range []Option{Native(), Generic()} {
			for m, family := range []string{"IPv4", "IPv6"} {
				if !testenv.Full() && (i+k+m)%2 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("MTU %d %s %s", mtu, []string{"native", "generic"}[k], family), func(t *testing.T) {
					run(t, func(t *testing.T) linktest.Pair {
						return conformancePair(t, netnstest.NewStreet(t, netns.Options{MTU: mtu}), mode, family)
					})
				})
				if !testenv.Full() {
					run = linktest.RunMoving
				}
			}
		}
	}
}

// Several queues to an interface, of which a path uses one.
func TestConformanceQueues(t *testing.T) {
	linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
		return conformancePair(t, netnstest.NewStreet(t, netns.Options{MTU: 4200, Queues: 3}), Native(), "IPv4")
	})
}

func conformancePair(t *testing.T, s *netns.Street, option Option, family string) linktest.Pair {
	a, b := s.A.IPv4, s.B.IPv4
	if family == "IPv6" {
		a, b = s.A.IPv6, s.B.IPv6
	}
	return linktest.Pair{
		A: openOn(t, s.A, option, Addrs(a)), B: openOn(t, s.B, option, Addrs(b)),
		Window: rxChunks / 4,
		Inject: func(payload []byte) error { return sendUDP(s.A, a, b, payload) },
	}
}

// sendUDP sends a datagram to port 4791 through a host's kernel.
func sendUDP(h *netns.Host, from, to netip.Addr, payload []byte) error {
	return sendSuper(h, from, to, payload, 0)
}

// sendSuper is sendUDP for a super-frame of segments of a size; 0: a single datagram.
func sendSuper(h *netns.Host, from, to netip.Addr, payload []byte, size int) error {
	return h.Do(func() error {
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, wire.Port)))
		if err != nil {
			return err
		}
		defer c.Close()
		raw, err := c.SyscallConn()
		if err != nil {
			return err
		}
		var failure error
		err = raw.Control(func(fd uintptr) {
			failure = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size)
		})
		if err := errors.Join(err, failure); err != nil {
			return err
		}
		_, err = c.Write(payload)
		return err
	})
}
