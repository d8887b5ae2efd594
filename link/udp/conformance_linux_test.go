package udp

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/wire"
)

func TestConformance(t *testing.T) {
	linktest.Run(t, func(t *testing.T) linktest.Pair {
		return conformancePair(t, nextLoopback(), nextLoopback())
	})
}

func TestConformanceIPv6(t *testing.T) {
	testenv.Need(t, testenv.Netns)
	linktest.Run(t, func(t *testing.T) linktest.Pair {
		enterNamespace(t)
		lo := up(t, "lo")
		addAddress(t, lo, "fd00::1/128")
		addAddress(t, lo, "fd00::2/128")
		return conformancePair(t, addr("fd00::1"), addr("fd00::2"))
	})
}

func conformancePair(t *testing.T, x, y netip.Addr) linktest.Pair {
	a, err := Open(x)
	require.NoError(t, err)
	b, err := Open(y)
	require.NoError(t, err)
	receive, _ := b.Buffers()
	return linktest.Pair{
		A: a, B: b,
		Window: receive / (4 * outbox.MaxPacket), // the kernel charges more than the bytes
		Inject: func(payload []byte) error { return inject(a, b.addr, payload) },
	}
}

// inject sends a datagram by a link's socket, past its queue.
func inject(from *Link, to netip.Addr, payload []byte) error {
	return unix.Sendto(from.queue.sock, payload, 0, sockaddr(to, wire.Port, 0))
}
