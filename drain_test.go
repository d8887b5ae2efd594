package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// TestDrainAndResume proves SQD end to end, over a network that loses packets: work under
// way completes, the event comes after its completions, the peer's requests go on being
// answered, an attribute changes, and the rest follows in order.
func TestDrainAndResume(t *testing.T) {
	p := newPair(t, roce.WithPathMTU(256))
	lossy := simnet.Randomly(simnet.Match{}, simnet.Random{Loss: 0.05})
	p.world.Faults.Add(lossy)
	for id := range uint64(8) {
		p.a.send(roce.SendWR{ID: id, Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 4000), Flags: roce.Signaled, RemoteAddr: p.b.mr.Remote().Addr, RKey: p.b.mr.Remote().Key})
	}
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateSQD, NotifyDrained: true}, roce.AttrState|roce.AttrNotifyDrained))
	p.a.send(roce.SendWR{ID: 8, Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), Flags: roce.Signaled, RemoteAddr: p.b.mr.Remote().Addr, RKey: p.b.mr.Remote().Key})
	p.b.send(roce.SendWR{Op: roce.OpRead, SGE: p.b.mr.SGE(0, 4000), Flags: roce.Signaled, RemoteAddr: p.a.mr.Remote().Addr, RKey: p.a.mr.Remote().Key})
	require.NoError(t, p.wait(p.b, 1)[0].Err())
	p.settle()
	require.Equal(t, []roce.Event{{Kind: roce.EventDrained, QP: p.a.qp}}, events(p.a.dev))
	require.False(t, p.a.qp.Attr().Draining)
	wc := make([]roce.WC, 16)
	begun := p.a.cq.Poll(wc)
	require.Less(t, begun, 9)

	require.NoError(t, p.a.qp.Modify(roce.QPAttr{Timeout: 10}, roce.AttrTimeout))
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateRTS}, roce.AttrState))
	copy(wc[begun:], p.wait(p.a, 9-begun))
	for i, c := range wc[:9] {
		require.NoError(t, c.Err())
		require.EqualValues(t, i, c.ID)
	}
	require.EqualValues(t, 10, p.a.qp.Attr().Timeout)
}

// TestModifyPathInSQD proves that a drained queue pair may be given another path to its
// peer: here, another traffic class and service level, whose priority is in VLAN tags. It
// stays the same flow, by its UDP source port.
func TestModifyPathInSQD(t *testing.T) {
	p := newPair(t)
	seen := map[uint16]map[uint16]bool{}
	p.world.OnFrame(func(e simnet.FrameEvent) {
		if e.From == "a" {
			if seen[e.Meta.SrcPort] == nil {
				seen[e.Meta.SrcPort] = map[uint16]bool{}
			}
			seen[e.Meta.SrcPort][e.Meta.VLAN] = true
		}
	})
	message := func(id uint64) {
		p.b.recv(id, 0, 8)
		p.a.send(roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(0, 8), Flags: roce.Signaled})
		require.NoError(t, p.wait(p.a, 1)[0].Err())
	}
	message(1)
	to := p.b.qp.Info().GID
	require.Error(t, p.a.qp.Modify(roce.QPAttr{DestAddr: to, TrafficClass: 0x20, SL: 3}, roce.AttrAV), "in RTS it may not")
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateSQD}, roce.AttrState))
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{DestAddr: to, TrafficClass: 0x20, SL: 3}, roce.AttrAV))
	require.NoError(t, p.a.qp.Modify(roce.QPAttr{State: roce.StateRTS}, roce.AttrState))
	message(2)
	require.EqualValues(t, 0x20, p.a.qp.Attr().TrafficClass)
	require.Len(t, seen, 1)
	for _, tags := range seen {
		require.Equal(t, map[uint16]bool{0: true, 3 << wire.VLANPriorityShift: true}, tags)
	}
}
