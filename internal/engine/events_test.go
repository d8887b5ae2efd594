package engine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
)

// sharing makes a queue pair that takes its receives from srq, connected to a peer.
func (p *pair) sharing(t testing.TB, srq *SRQ, happened func(transport.Event)) (hub, spoke *QP) {
	t.Helper()
	hub, err := p.b.shard.NewQP(QPConfig{
		PD: testPD, SendCQ: p.b.cq, RecvCQ: p.b.cq, SendDepth: 4, MaxSGE: 1, SRQ: srq, Happened: happened,
	})
	require.NoError(t, err)
	spoke = p.a.qp()
	p.b.connect(hub, spoke)
	p.a.connect(spoke, hub)
	return hub, spoke
}

// An event is told when the completions that belong to it can be seen, whether a packet
// or the owner of the queue pair brought it about.
func TestEventsFollowTheirCompletions(t *testing.T) {
	p := newPair(t)
	srq := NewSRQ(4, 1, func(transport.Event) {})
	seen := -1
	happened := func(e transport.Event) {
		require.Equal(t, transport.EventLastWQE, e)
		seen = p.b.cq.ring.Len()
	}
	_, spoke := p.sharing(t, srq, happened)
	require.NoError(t, srq.PostRecv(&qp.RecvWR{SGE: p.b.sge(0, 4)}))
	post(t, spoke, qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 8)}) // too long
	p.settle(t)
	require.Equal(t, 1, seen, "the receive's error was there")
	p.b.poll()

	seen = -1
	hub, spoke := p.sharing(t, srq, happened)
	require.NoError(t, srq.PostRecv(&qp.RecvWR{SGE: p.b.sge(0, 4096)}))
	require.NoError(t, spoke.PostSend(&qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 4096)}))
	p.world.Faults.Add(simnet.Drop(simnet.Match{Has: bth.Send | bth.Last}))
	spoke.Ring()
	require.NoError(t, p.world.Run(p.world.Now().Add(1e6)))
	hub.Fail()
	require.Equal(t, 1, seen, "the flushed receive was there")
}

// A link that fails for good is told of once.
func TestFailureIsToldOnce(t *testing.T) {
	var told []error
	p := newPair(t, func(c *Config) { c.Failed = func(err error) { told = append(told, err) } })
	first := errors.New("first")
	p.a.shard.Fail(first)
	p.a.shard.Fail(errors.New("second"))
	require.Equal(t, []error{first}, told)
}

// A message into a shared receive, with its acknowledgement, allocates nothing on the way
// from link to link.
func TestSharedReceivesAllocateNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	p := newLoosePair(t)
	srq := NewSRQ(4, 1, func(transport.Event) {})
	_, spoke := p.sharing(t, srq, nil)
	recv := qp.RecvWR{SGE: p.b.sge(0, 64)}
	send := qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 64), Flags: qp.Signaled}
	out := make([]cq.WC, 4)
	messages := 0
	one := func() {
		srq.Arm(1)
		_ = srq.PostRecv(&recv)
		_ = spoke.PostSend(&send)
		spoke.Ring()
		for range 4 {
			p.a.shard.Poll()
			p.arrive(t)
			p.b.shard.Poll()
			p.arrive(t)
		}
		messages += p.a.cq.Poll(out) + p.b.cq.Poll(out)
	}
	one()
	require.Zero(t, testing.AllocsPerRun(100, one))
	require.Equal(t, 2*102, messages)
}
