package roce_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

// icrcLog keeps what a device knew of the ICRCs of its packets.
type icrcLog map[trace.Direction]map[wire.ICRC]int

func (l icrcLog) Packet(e *trace.Event) {
	if l[e.Dir] == nil {
		l[e.Dir] = make(map[wire.ICRC]int)
	}
	l[e.Dir][e.ICRC]++
}

// W07: a peer that sends 0 as ICRC. By default its packets are dropped, and counted; a device
// that was asked to accept any takes them, and its trace says that they were not checked. One
// that was asked to send 0 does so in every packet, requests and answers.
func TestGoingWithoutICRC(t *testing.T) {
	open := func(t *testing.T, opts ...roce.Option) (*pair, icrcLog) {
		w, log := simnet.New(1), icrcLog{}
		p := &pair{t: t, world: w}
		p.a = newEndOn(t, w, w.Link("a", netip.MustParseAddr("10.0.0.1")), roce.QPConfig{}, roce.SendZeroICRC(), roce.AcceptAnyICRC())
		p.b = newEndOn(t, w, w.Link("b", netip.MustParseAddr("10.0.0.2")), roce.QPConfig{}, append(opts, roce.WithTap(log))...)
		require.NoError(t, p.a.qp.Connect(p.b.qp.Info(), roce.WithRetry(10, 1, 7)))
		require.NoError(t, p.b.qp.Connect(p.a.qp.Info()))
		return p, log
	}
	work := func(p *pair) []roce.WC {
		r := p.b.mr.Remote()
		p.b.recv(1, 0, 64)
		p.a.send(
			roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 33)},
			roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(0, 3001), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled})
		return p.wait(p.a, 1)
	}
	t.Run("default", func(t *testing.T) {
		p, log := open(t)
		require.Equal(t, roce.StatusRetryExceeded, work(p)[0].Status)
		require.Contains(t, p.b.dev.Stats(), roce.Counter{Name: "received: bad ICRC: corrupted, or addresses changed in flight", Value: 4})
		require.Equal(t, icrcLog{trace.In: {wire.ICRCBad: 4}}, log)
		require.Equal(t, roce.StateRTS, p.b.qp.State())
	})
	t.Run("accepted", func(t *testing.T) {
		p, log := open(t, roce.AcceptAnyICRC())
		require.NoError(t, work(p)[0].Err())
		require.Equal(t, icrcLog{trace.In: {wire.ICRCUnchecked: 2}, trace.Out: {wire.ICRCGood: 3}}, log)
	})
	t.Run("both ways", func(t *testing.T) {
		p, log := open(t, roce.AcceptAnyICRC(), roce.SendZeroICRC())
		p.world.OnFrame(func(e simnet.FrameEvent) {
			require.Equal(t, make([]byte, wire.ICRCLen), e.Frame[len(e.Frame)-wire.ICRCLen:])
		})
		require.NoError(t, work(p)[0].Err())
		require.NotZero(t, log[trace.Out][wire.ICRCBad])
	})
}
