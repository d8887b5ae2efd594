package roce_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
)

// R11: ten seconds of SENDs, WRITEs and READs that take longer than the timeout of 67 ms each,
// over a wire of 10 Mb/s that loses nothing. Nothing is sent twice and no timer fires: it
// starts anew with progress, inside long answers too, and rests when nothing is under way.
func TestSteadyStreamHasNoRetransmission(t *testing.T) {
	w := simnet.New(1)
	slow := []simnet.LinkOption{simnet.Bandwidth(10e6), simnet.Latency(time.Millisecond)}
	p := &pair{t: t, world: w}
	p.a = newEndOn(t, w, w.Link("a", netip.MustParseAddr("10.0.0.1"), slow...), roce.QPConfig{})
	p.b = newEndOn(t, w, w.Link("b", netip.MustParseAddr("10.0.0.2"), slow...), roce.QPConfig{})
	require.NoError(t, p.a.qp.Connect(p.b.qp.Info(), roce.WithRetry(14, 7, 7)))
	require.NoError(t, p.b.qp.Connect(p.a.qp.Info(), roce.WithRetry(14, 7, 7)))
	r := p.b.mr.Remote()
	rounds := 0
	for ; w.Now() < clock.Time(10*time.Second); rounds++ {
		p.b.recv(1, 0, 8)
		p.a.send(
			roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(0, bufferSize), RemoteAddr: r.Addr, RKey: r.Key},
			roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 8)},
			roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, bufferSize), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled})
		for _, wc := range p.wait(p.a, 1) {
			require.NoError(t, wc.Err())
		}
		p.wait(p.b, 1)
		if rounds%8 == 7 {
			p.settle() // a second of nothing
		}
	}
	require.Greater(t, rounds, 20)
	for _, e := range []*end{p.a, p.b} {
		require.Zero(t, e.qp.Stats().Retransmitted)
		require.Zero(t, e.qp.Stats().Timeouts)
		require.Zero(t, e.qp.Stats().Duplicates)
	}
}
