package roce_test

import (
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

// watchedLink is a link whose events the test tells.
type watchedLink struct {
	link.Link
	state  atomic.Uint32 // a link.State
	events chan link.Event
}

func (l *watchedLink) State() link.State         { return link.State(l.state.Load()) }
func (l *watchedLink) Events() <-chan link.Event { return l.events }

func (l *watchedLink) Close() error {
	close(l.events)
	return l.Link.Close()
}

func openWatched(t *testing.T) (*roce.Device, *watchedLink) {
	t.Helper()
	w := simnet.New(1, simnet.RealTime())
	w.Link("b", netip.MustParseAddr("10.0.0.2")) // where nobody answers
	l := &watchedLink{Link: w.Link("a", netip.MustParseAddr("10.0.0.1")), events: make(chan link.Event)}
	dev, err := roce.Open(l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev, l
}

func TestEventsReachTheUser(t *testing.T) {
	dev, l := openWatched(t)
	require.Equal(t, "ACTIVE", dev.Port().State)
	l.state.Store(uint32(link.Down))
	require.Equal(t, "DOWN", dev.Port().State)
	for kind, want := range map[link.EventKind]roce.EventKind{
		link.PortActive: roce.EventPortActive, link.PortDown: roce.EventPortError,
		link.AddrAdded: roce.EventGIDChange, link.AddrRemoved: roce.EventGIDChange,
		link.PeerMoved: roce.EventPeerMoved, link.MTUChanged: roce.EventMTUChanged,
	} {
		e := link.Event{Kind: kind, Addr: netip.MustParseAddr("10.0.0.3"), MTU: 9000}
		l.events <- e
		require.Equal(t, roce.Event{Kind: want, Port: e}, <-dev.Events())
	}
	require.NoError(t, dev.Close())
	_, open := <-dev.Events()
	require.False(t, open, "the channel is closed with the device")
}

// Nobody has to take the events.
func TestEventsAreBounded(t *testing.T) {
	dev, l := openWatched(t)
	for range 1000 {
		l.events <- link.Event{Kind: link.MTUChanged, MTU: 9000}
	}
	l.state.Store(uint32(link.Gone))
	for range 3 {
		l.events <- link.Event{Kind: link.DeviceGone} // there is still room for what is fatal
	}
	require.NoError(t, dev.Close())
	var kinds []roce.EventKind
	for e := range dev.Events() {
		kinds = append(kinds, e.Kind)
	}
	require.Len(t, kinds, 256+1)
	require.Equal(t, roce.EventDeviceFatal, kinds[256], "told once")
	require.Contains(t, dev.Stats(), roce.Counter{Name: "events lost, nobody took them", Value: 1000 - 256})
}

// Fatal events are bounded too, and those that are lost are counted on their own.
func TestLostFatalEventsAreCounted(t *testing.T) {
	dev, _ := openWatched(t)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	for range 300 {
		overflow(t, pd)
	}
	require.NoError(t, dev.Close())
	require.Contains(t, dev.Stats(), roce.Counter{Name: "fatal events lost, nobody took them", Value: 2*300 - 512})
}

// When the interface is deleted all work is flushed, and who waits is told: also if
// the link had no room for that event behind others.
func TestDeletedInterfaceEndsAllWork(t *testing.T) {
	for _, kind := range []link.EventKind{link.DeviceGone, link.PortDown} {
		t.Run(link.Event{Kind: kind}.String(), func(t *testing.T) { deletedInterfaceEndsAllWork(t, kind) })
	}
}

func deletedInterfaceEndsAllWork(t *testing.T, told link.EventKind) {
	dev, l := openWatched(t)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	cq, err := dev.CreateCQ(8)
	require.NoError(t, err)
	mr, err := pd.RegMR(make([]byte, 64), roce.AccessLocalWrite)
	require.NoError(t, err)
	qp, err := pd.CreateQP(roce.QPConfig{SendCQ: cq, SendDepth: 4, RecvDepth: 4})
	require.NoError(t, err)
	info := qp.Info()
	info.GID = netip.MustParseAddr("10.0.0.2")
	require.NoError(t, qp.Connect(info))
	_, err = qp.PostRecv(roce.RecvWR{ID: 1, SGE: mr.SGE(0, 64)})
	require.NoError(t, err)
	_, err = qp.PostSend(roce.SendWR{ID: 2, Op: roce.OpSend, SGE: mr.SGE(0, 8), Flags: roce.Signaled})
	require.NoError(t, err)

	l.state.Store(uint32(link.Gone))
	l.events <- link.Event{Kind: told}
	ids := map[uint64]roce.Status{}
	for len(ids) < 2 {
		wc := make([]roce.WC, 4)
		n, err := cq.Wait(t.Context(), wc)
		require.NoError(t, err)
		for _, w := range wc[:n] {
			ids[w.ID] = w.Status
		}
	}
	require.Equal(t, map[uint64]roce.Status{1: roce.StatusFlushed, 2: roce.StatusFlushed}, ids)
	_, err = cq.Wait(t.Context(), make([]roce.WC, 4))
	require.EqualError(t, err, "roce: sim a: the interface was deleted; close the device and open another")
	e := <-dev.Events()
	require.Equal(t, roce.Event{Kind: roce.EventDeviceFatal, Err: err}, e)
	require.Equal(t, "local catastrophic error: "+err.Error(), e.String())
	require.Equal(t, roce.StateErr, qp.State())
}
