package udp

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// pingPayload makes a packet of 64 bytes of payload, or a datagram of the same size.
const pingPayload = 64

// BenchmarkPingPong compares the time of one way, half a round trip, between two
// goroutines over the loopback interface: queues that spin, queues that park, and
// the standard library's UDP connections, which park too. The queues also build the
// ICRC.
func BenchmarkPingPong(b *testing.B) {
	b.Run("queue/spin", func(b *testing.B) { pingQueues(b, spinOne) })
	b.Run("queue/park", func(b *testing.B) { pingQueues(b, awaitOne) })
	b.Run("net.UDPConn", pingConns)
}

// spinOne receives one frame without sleeping.
func spinOne(q *queue) {
	var rx [1]link.Rx
	for q.Recv(rx[:]) == 0 {
	}
	q.Release()
}

func pingQueues(b *testing.B, receive func(*queue)) {
	x, y := pair(b)
	xy, yx := path(b, x, y), path(b, y, x)
	payload := [][]byte{make([]byte, pingPayload)}
	pingPong(b,
		func() { sendOne(x.queue, xy, payload) }, func() { receive(x.queue) },
		func() { sendOne(y.queue, yx, payload) }, func() { receive(y.queue) })
}

func sendOne(q *queue, p *wire.Path, payload [][]byte) {
	put(q, p, 12, 1, payload, 0, true)
	q.Flush()
}

func pingConns(b *testing.B) {
	listen := func() (*net.UDPConn, netip.AddrPort) {
		to := netip.AddrPortFrom(nextLoopback(), wire.Port)
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(to))
		require.NoError(b, err)
		b.Cleanup(func() { c.Close() })
		return c, to
	}
	x, toX := listen()
	y, toY := listen()
	send := func(c *net.UDPConn, to netip.AddrPort) func() {
		m := make([]byte, 12+pingPayload+wire.ICRCLen)
		return func() { c.WriteToUDPAddrPort(m, to) }
	}
	receive := func(c *net.UDPConn) func() {
		m := make([]byte, frameSize)
		return func() { c.ReadFromUDPAddrPort(m) }
	}
	pingPong(b, send(x, toY), receive(x), send(y, toX), receive(y))
}

// pingPong runs x against y and reports the percentiles of half a round trip.
func pingPong(b *testing.B, sendX, receiveX, sendY, receiveY func()) {
	b.ReportAllocs()
	trips := make([]time.Duration, b.N)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range b.N {
			receiveY()
			sendY()
		}
	})
	b.ResetTimer()
	for i := range trips {
		start := time.Now()
		sendX()
		receiveX()
		trips[i] = time.Since(start)
	}
	b.StopTimer()
	wg.Wait()
	slices.Sort(trips)
	for name, at := range map[string]int{"p50-µs/way": len(trips) / 2, "p99-µs/way": len(trips) * 99 / 100} {
		b.ReportMetric(float64(trips[at].Nanoseconds())/2000, name)
	}
}
