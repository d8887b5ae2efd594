package engine

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
)

// tapLog keeps what left a shard.
type tapLog struct {
	out []bth.Opcode
	why []transport.Cause
}

func (l *tapLog) Packet(e *trace.Event) {
	if e.Dir == trace.Out {
		l.out = append(l.out, bth.Opcode(e.Frame[0][0]))
		l.why = append(l.why, e.Cause)
	}
}

// A slow link with a short ring: everything arrives, and nothing is lost in
// between, although the ring is full nearly all the time.
func TestFullRing(t *testing.T) {
	for _, ring := range []int{1, 2, 3, 16} {
		w := simnet.New(1)
		p := &pair{world: w}
		slow := []simnet.LinkOption{simnet.MTU(4200), simnet.Bandwidth(1e9), simnet.Queue(ring)}
		p.la = w.Link("a", netip.MustParseAddr("10.0.0.1"), slow...)
		p.lb = w.Link("b", netip.MustParseAddr("10.0.0.2"), slow...)
		p.a, p.b = newSide(t, p.la), newSide(t, p.lb)
		w.Attach(p.a.shard)
		w.Attach(p.b.shard)
		p.qa, p.qb = p.a.qp(), p.b.qp()
		p.a.connect(p.qa, p.qb)
		p.b.connect(p.qb, p.qa)
		src := p.a.region.Bytes()
		for i := range src {
			src[i] = byte(i * 3)
		}
		peer := p.b.region
		write := qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, 1<<16), RemoteAddr: peer.Base(), RKey: peer.RKey()}
		read := write
		read.Op = qp.OpRead
		post(t, p.qa, write, read)
		for _, wc := range p.run(t, p.a, 2) {
			require.NoError(t, wc.Err(), "ring of %d", ring)
		}
		require.Equal(t, src, peer.Bytes())
		for _, s := range []*side{p.a, p.b} {
			require.Zero(t, s.shard.Counters().ByCause[transport.CauseTimeout], "ring of %d", ring)
		}
	}
}

// Acknowledgements leave after the requests of the same turn, and one of them is
// enough for a turn.
func TestAcknowledgementsComeLastAndOncePerTurn(t *testing.T) {
	log := &tapLog{}
	p := newPair(t)
	p.b.shard.tap = log
	for range 5 { // they arrive at one instant
		post(t, p.qa, qp.SendWR{Op: qp.OpWrite})
	}
	arrived := p.world.Now().Add(2 * simnet.DefaultLatency)
	require.NoError(t, p.world.Run(arrived-1))
	post(t, p.qb, qp.SendWR{Op: qp.OpWrite})
	require.NoError(t, p.world.Run(arrived))
	require.Equal(t, []bth.Opcode{bth.RCWriteOnly, bth.RCAcknowledge}, log.out)
	p.settle(t)
}

// A duplicate request is answered, and the trace says why it is sent.
func TestTapSaysWhy(t *testing.T) {
	log := &tapLog{}
	p := newPair(t)
	p.a.shard.tap = log
	p.world.Faults.Add(simnet.Drop(simnet.Match{From: "b", Nth: 1}))
	post(t, p.qa, qp.SendWR{Op: qp.OpWrite})
	p.run(t, p.a, 1)
	require.Equal(t, []transport.Cause{transport.CauseFirst, transport.CauseTimeout}, log.why)
}
