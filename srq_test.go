package roce_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

// fan is a device whose queue pairs share one receive queue, and a peer with one queue
// pair for each.
type fan struct {
	*pair
	srq        *roce.SRQ
	hub, spoke []*roce.QP
}

// newFan makes n connections. Side b has the shared queue; both sides' own QPs stay idle.
func newFan(t testing.TB, n int, cfg roce.SRQConfig) *fan {
	t.Helper()
	f := &fan{pair: newUnconnected(t, roce.QPConfig{})}
	var err error
	f.srq, err = f.b.pd.CreateSRQ(cfg)
	require.NoError(t, err)
	for range n {
		f.connect(t)
	}
	return f
}

// connect adds a connection.
func (f *fan) connect(t testing.TB) {
	t.Helper()
	hub, err := f.b.pd.CreateQP(roce.QPConfig{SendCQ: f.b.cq, SRQ: f.srq})
	require.NoError(t, err)
	spoke, err := f.a.pd.CreateQP(roce.QPConfig{SendCQ: f.a.cq})
	require.NoError(t, err)
	require.NoError(t, hub.Connect(spoke.Info()))
	require.NoError(t, spoke.Connect(hub.Info()))
	f.hub, f.spoke = append(f.hub, hub), append(f.spoke, spoke)
}

// receives posts receives of 256 bytes with these IDs.
func (f *fan) receives(ids ...int) {
	f.t.Helper()
	for _, id := range ids {
		_, err := f.srq.PostRecv(roce.RecvWR{ID: uint64(id), SGE: f.b.mr.SGE(256*id, 256)})
		require.NoError(f.t, err)
	}
}

// send sends one message of 8 bytes on each of the connections.
func (f *fan) send(conns ...int) {
	f.t.Helper()
	for _, i := range conns {
		_, err := f.spoke[i].PostSend(roce.SendWR{Op: roce.OpSend, SGE: f.a.mr.SGE(0, 8), Flags: roce.Signaled})
		require.NoError(f.t, err)
	}
}

// events takes what the device has told.
func events(dev *roce.Device) (list []roce.Event) {
	for {
		select {
		case e := <-dev.Events():
			list = append(list, e)
		default:
			return list
		}
	}
}

// C21: three queue pairs on one SRQ use its receives in the order of posting, each
// completion names its queue pair; below the limit comes one event; an empty queue makes
// the sender wait, and nothing is lost.
func TestSharedReceives(t *testing.T) {
	f := newFan(t, 3, roce.SRQConfig{Depth: 8})
	require.NoError(t, f.srq.Arm(3))
	require.Equal(t, []roce.Event{{Kind: roce.EventLimitReached, SRQ: f.srq}}, events(f.b.dev), "it is empty")
	f.receives(0, 1, 2, 3, 4)
	require.NoError(t, f.srq.Arm(3))
	require.Equal(t, roce.SRQAttr{Depth: 8, MaxSGE: 4, Limit: 3, Posted: 5}, f.srq.Attr())
	f.send(0, 2)
	f.wait(f.b, 2)
	require.Empty(t, events(f.b.dev), "three are not fewer than three")
	f.send(1)
	f.wait(f.b, 1)
	got := events(f.b.dev)
	require.Equal(t, []roce.Event{{Kind: roce.EventLimitReached, SRQ: f.srq}}, got)
	require.Equal(t, "SRQ 1: SRQ limit reached", got[0].String())

	f.send(0, 1, 2, 0, 1)
	for i, wc := range f.wait(f.b, 2) {
		require.EqualValues(t, 3+i, wc.ID)
	}
	f.settle()
	require.Empty(t, events(f.b.dev), "one event per arming")
	f.receives(5, 6, 7)
	byQP := map[uint32]int{}
	for i, wc := range f.wait(f.b, 3) {
		require.NoError(t, wc.Err())
		require.EqualValues(t, 5+i, wc.ID)
		byQP[wc.QPN]++
	}
	for _, wc := range f.wait(f.a, 8) {
		require.NoError(t, wc.Err())
	}
	require.NotEmpty(t, byQP)
	require.Zero(t, f.srq.Attr().Posted)
}

// TestSRQOutlivesItsQPs proves that a queue pair's end leaves the shared receives to the
// others, and tells when it takes no more: after the completion of the one it held.
func TestSRQOutlivesItsQPs(t *testing.T) {
	f := newFan(t, 2, roce.SRQConfig{})
	f.receives(0, 1)
	require.NoError(t, f.hub[0].Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState))
	require.Equal(t, []roce.Event{{Kind: roce.EventLastWQE, QP: f.hub[0]}}, events(f.b.dev))
	require.Zero(t, f.b.cq.Poll(make([]roce.WC, 4)))
	f.send(1)
	require.EqualValues(t, 0, f.wait(f.b, 1)[0].ID)

	// A message that is too long completes the receive that it took.
	_, err := f.spoke[1].PostSend(roce.SendWR{Op: roce.OpSend, SGE: f.a.mr.SGE(0, 257)})
	require.NoError(t, err)
	f.settle()
	wc := make([]roce.WC, 4)
	require.Equal(t, 1, f.b.cq.Poll(wc))
	require.Equal(t, roce.StatusLocalLength, wc[0].Status)
	require.EqualValues(t, 1, wc[0].ID)
	require.Equal(t, []roce.Event{{Kind: roce.EventLastWQE, QP: f.hub[1]}}, events(f.b.dev))
}

// TestSRQRules proves what is refused: receives posted to a queue pair that shares,
// limits beyond the depth, another domain's queue, closing in use, and everything once
// it is closed. The errors name what is in the way.
func TestSRQRules(t *testing.T) {
	f := newFan(t, 1, roce.SRQConfig{Depth: 4, MaxSGE: 1})
	_, err := f.hub[0].PostRecv(roce.RecvWR{})
	require.ErrorContains(t, err, "it takes its receives from SRQ 1: post them there")
	require.ErrorContains(t, f.srq.Arm(5), "limit 5 is not between 0 and its depth, 4")
	require.ErrorContains(t, f.srq.Arm(-1), "limit -1")
	var bad *roce.WRError
	_, err = f.srq.PostRecv(roce.RecvWR{}, roce.RecvWR{SGL: make([]roce.SGE, 2)})
	require.ErrorAs(t, err, &bad)
	n, err := f.srq.PostRecv(make([]roce.RecvWR, 9)...)
	require.ErrorIs(t, err, roce.ErrQueueFull)
	require.Equal(t, 3, n, "one was posted above")
	for _, cfg := range []roce.SRQConfig{{Depth: -1}, {Depth: 1 << 20}, {MaxSGE: 100}} {
		_, err = f.b.pd.CreateSRQ(cfg)
		require.Error(t, err)
	}

	other, err := f.b.dev.AllocPD()
	require.NoError(t, err)
	_, err = other.CreateQP(roce.QPConfig{SendCQ: f.b.cq, SRQ: f.srq})
	require.ErrorContains(t, err, "SRQ 1 must be of the same PD")

	require.ErrorContains(t, f.srq.Close(), "in use by "+f.hub[0].String())
	require.ErrorContains(t, f.b.pd.Close(), f.srq.String())
	require.NoError(t, f.hub[0].Close())
	require.NoError(t, f.srq.Close())
	require.NoError(t, f.srq.Close(), "again")
	_, err = f.srq.PostRecv(roce.RecvWR{})
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, f.srq.Arm(1), net.ErrClosed)
	_, err = f.b.pd.CreateQP(roce.QPConfig{SendCQ: f.b.cq, SRQ: f.srq})
	require.ErrorIs(t, err, net.ErrClosed)
}

// TestSRQFromManyGoroutines proves, under the race detector too, that receives may be
// posted from many goroutines while several queue pairs use them.
func TestSRQFromManyGoroutines(t *testing.T) {
	w := simnet.New(1, simnet.RealTime())
	postFromMany(t, w.Link("a", netip.MustParseAddr("10.0.0.1")), w.Link("b", netip.MustParseAddr("10.0.0.2")))
}

// postFromMany has several queue pairs of a send to several of b that share receives,
// which goroutines post and arm meanwhile: every message arrives once, in a receive of
// its own.
func postFromMany(t *testing.T, a, b link.Link) {
	const conns, posters, messages = 3, 4, 600
	open := func(l link.Link) (*roce.Device, *roce.PD, *roce.CQ, *roce.MR) {
		dev, err := roce.Open(l)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		pd, err := dev.AllocPD()
		require.NoError(t, err)
		cq, err := dev.CreateCQ(2 * messages)
		require.NoError(t, err)
		mr, err := pd.RegMR(make([]byte, 8*messages), allRights)
		require.NoError(t, err)
		return dev, pd, cq, mr
	}
	_, pdA, cqA, mrA := open(a)
	devB, pdB, cqB, mrB := open(b)
	srq, err := pdB.CreateSRQ(roce.SRQConfig{Depth: messages})
	require.NoError(t, err)
	var spokes []*roce.QP
	for range conns {
		hub, err := pdB.CreateQP(roce.QPConfig{SendCQ: cqB, SRQ: srq, Credits: true})
		require.NoError(t, err)
		spoke, err := pdA.CreateQP(roce.QPConfig{SendCQ: cqA, SendDepth: messages})
		require.NoError(t, err)
		require.NoError(t, hub.Connect(spoke.Info()))
		require.NoError(t, spoke.Connect(hub.Info(), roce.WithRetry(14, 7, 7)))
		spokes = append(spokes, spoke)
	}
	var all sync.WaitGroup
	for p := range posters {
		all.Go(func() {
			for i := p; i < messages; i += posters {
				if i%7 == 0 {
					if err := srq.Arm(2); err != nil {
						t.Error(err)
					}
				}
				if _, err := srq.PostRecv(roce.RecvWR{ID: uint64(i), SGE: mrB.SGE(8*i, 8)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range messages {
		mrA.Bytes()[8*i] = byte(i)
		_, err := spokes[i%conns].PostSend(roce.SendWR{ID: uint64(i), Op: roce.OpSend, SGE: mrA.SGE(8*i, 8)})
		require.NoError(t, err)
	}
	seen := map[uint64]bool{}
	for len(seen) < messages {
		wc := make([]roce.WC, 16)
		n, err := cqB.Wait(context.Background(), wc)
		require.NoError(t, err)
		for _, c := range wc[:n] {
			require.NoError(t, c.Err())
			require.False(t, seen[c.ID], "receive %d was used twice", c.ID)
			seen[c.ID] = true
		}
	}
	all.Wait()
	require.Zero(t, srq.Attr().Posted)
	require.NoError(t, devB.Close())
	for e := range devB.Events() {
		require.Contains(t, []roce.EventKind{roce.EventLimitReached, roce.EventLastWQE}, e.Kind)
	}
}
