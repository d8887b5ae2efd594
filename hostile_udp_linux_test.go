package roce_test

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// dropped is how many packets a device dropped because they were too short, or their
// ICRC bad.
func dropped(d *roce.Device) (n uint64) {
	for _, c := range d.Stats() {
		if c.Name == "received: "+transport.RuleShort.String() || c.Name == "received: "+transport.RuleICRC.String() {
			n += c.Value
		}
	}
	return n
}

// Anybody can send to the port of a device over kernel UDP. Under a flood of garbage, as
// much as the socket holds, a connection goes on; all of it is counted; and Close returns.
func TestGarbageOverUDP(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	l := loopback(t)
	a, b := newConnEnd(t, l), newConnEnd(t, loopback(t))
	join(t, a, b)
	target := net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.Addrs()[0], wire.Port))
	flood, err := net.DialUDP("udp", nil, target)
	require.NoError(t, err)
	defer flood.Close()
	const enough, ahead = 5000, 32 // packets in all, and in the socket
	var sent uint64
	garbage := make([]byte, 200)
	send := func() {
		for i := range garbage {
			garbage[i] = byte(r.Uint32())
		}
		_, _ = flood.Write(garbage[:r.IntN(len(garbage))]) // fails when the port is closed
		sent++
	}
	var working sync.WaitGroup
	stop := make(chan struct{})
	trips := 0
	working.Go(func() {
		for ; ; trips++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := a.conn.Write(t.Context(), a.mr.SGE(0, 3000), b.mr.Remote()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for sent < enough {
		send()
		for sent-dropped(a.dev) > ahead {
			runtime.Gosched()
		}
	}
	close(stop)
	working.Wait()
	t.Logf("%d WRITEs beside %d packets of garbage", trips, sent)
	require.NotZero(t, trips)
	require.Zero(t, a.conn.QP().Stats().Retransmitted)
	require.Zero(t, b.conn.QP().Stats().Retransmitted)

	closed := make(chan struct{})
	working.Go(func() {
		defer close(closed)
		require.NoError(t, a.dev.Close())
	})
	for done := false; !done; {
		select {
		case <-closed:
			done = true
		default:
			send()
		}
	}
	working.Wait()
}
