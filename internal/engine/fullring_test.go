package engine

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
)

// R15: the responder's own link has no room nearly all the time while it answers a READ
// of 4 MiB. It holds its place: every PSN is sent once, in order, and the whole takes as long
// as the wire needs; no timeout drives it.
func TestLongReadThroughAFullRing(t *testing.T) {
	const n, rate = 4 << 20, 1e9 // bytes, bits per second
	wire := time.Duration(n * 8 * int64(time.Second) / rate)
	for _, ring := range []int{1, 2, 16} {
		w := simnet.New(1)
		p := &pair{world: w}
		slow := []simnet.LinkOption{simnet.MTU(4200), simnet.Bandwidth(rate), simnet.Queue(ring)}
		p.la = w.Link("a", netip.MustParseAddr("10.0.0.1"), slow...)
		p.lb = w.Link("b", netip.MustParseAddr("10.0.0.2"), slow...)
		p.a, p.b = newSide(t, p.la), newSide(t, p.lb)
		p.attach()
		p.qa, p.qb = p.a.qp(), p.b.qp()
		p.a.connect(p.qa, p.qb)
		p.b.connect(p.qb, p.qa)
		p.a.enlarge(n)
		p.b.enlarge(n)
		want := p.b.region.Bytes()
		for i := range want {
			want[i] = byte(i*3 + i>>10)
		}
		next := p.qa.InitialPSN()
		w.OnFrame(func(e simnet.FrameEvent) {
			var pkt bth.Packet
			if e.Step != simnet.Sent || pkt.ParseBTH(e.Frame) != nil || !pkt.Opcode.Is(bth.Response) {
				return
			}
			require.Equal(t, next, pkt.PSN, "ring of %d", ring)
			next = next.Add(1)
		})
		post(t, p.qa, qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, n), RemoteAddr: p.b.region.Base(), RKey: p.b.region.RKey()})
		require.NoError(t, p.run(t, p.a, 1)[0].Err(), "ring of %d", ring)
		require.Equal(t, p.qa.InitialPSN().Add(n/1024), next)
		require.Equal(t, want, p.a.region.Bytes())
		require.Less(t, w.Now(), clock.Time(wire+wire/10), "ring of %d: the wire's own time", ring)
		for _, q := range []*QP{p.qa, p.qb} {
			require.Zero(t, q.Snapshot().Stats.Retransmitted)
		}
	}
}

// enlarge gives the side another region of n bytes.
func (s *side) enlarge(n int) {
	s.t.Helper()
	buf := make([]byte, n)
	region, err := s.memory.Register(testPD, buf, mr.Address(buf), allAccess)
	require.NoError(s.t, err)
	s.region = region
}
