package raw

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/linktest"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
)

// Peers on one host reach each other, though frames on the wire would not come back:
// two links of one interface, a link and one of the kernel's UDP.
func TestConformanceOnOneHost(t *testing.T) {
	const window = 1 << 20 / outbox.MaxPacket // in the kernel's socket
	t.Run("two links", func(t *testing.T) {
		linktest.Run(t, func(t *testing.T) linktest.Pair {
			w := newNetwork(t, 1500)
			return linktest.Pair{A: w.openA(Addrs(addr("10.9.0.1"))), B: w.openA(Addrs(addr("10.9.0.3"))), Window: window}
		})
	})
	t.Run("IPv4 and udp", func(t *testing.T) {
		linktest.RunMoving(t, func(t *testing.T) linktest.Pair {
			w := newNetwork(t, 1500)
			return linktest.Pair{A: w.openA(Addrs(addr("10.9.0.1"))), B: openUDP(w.a, "10.9.0.3"), Window: window}
		})
	})
}

// A link whose queue never parks sees a peer of its host too, and one link may have
// peers on the wire and on its host, itself among them.
func TestPeersOnTheWireAndOnTheHost(t *testing.T) {
	w := newNetwork(t, 1500)
	here, there := w.openA(), w.openB()
	other := openUDP(w.a, "127.0.0.1")

	self := resolved(t, here, "10.9.0.1", "10.9.0.1")
	sister := resolved(t, here, "10.9.0.3", "10.9.0.1")
	v6 := resolved(t, here, "fd09::1", "fd09::1")
	wired := resolved(t, there, "10.9.0.2", "10.9.0.1")
	fromUDP := resolved(t, other, "127.0.0.1", "10.9.0.1")
	require.Equal(t, uint16(wire.Port), self.SrcPort)
	require.Zero(t, self.DstMAC)

	counts := map[byte]int{}
	const rounds = 50
	for range rounds {
		for tag, from := range map[byte]struct {
			link.Link
			*wire.Path
		}{1: {here, self}, 2: {here, sister}, 3: {here, v6}, 4: {there, wired}, 5: {other, fromUDP}} {
			put(from.Queue(), from.Path, tag, 100)
			flush(t, from.Queue())
		}
	}
	rx := make([]link.Rx, 16)
	for received := 0; received < 5*rounds; {
		for i := range rx[:here.queue.Recv(rx)] {
			eachPacket(&rx[i], func(p []byte) {
				counts[p[0]]++
				received++
			})
		}
		here.queue.Release()
	}
	require.Equal(t, map[byte]int{1: rounds, 2: rounds, 3: rounds, 4: rounds, 5: rounds}, counts)
}

// Where another has the port of an address, the wire works and the error for a peer
// on this host says why that does not.
func TestPortOfAnAddressTaken(t *testing.T) {
	w := newNetwork(t, 1500)
	openUDP(w.a, "10.9.0.1")
	here, there := w.openA(Addrs(addr("10.9.0.1"))), w.openB(Addrs(addr("10.9.0.2")))
	err := here.Resolve(&wire.Path{Src: addr("10.9.0.1"), Dst: addr("10.9.0.3")})
	require.ErrorIs(t, err, udp.ErrPortInUse)
	t.Log(err)
	p := resolved(t, here, "10.9.0.1", "10.9.0.2")
	put(here.queue, p, 7, 64)
	flush(t, here.queue)
	require.Equal(t, byte(7), await(t, there.queue, 1)[0][0])
}
