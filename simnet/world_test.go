package simnet_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// TestLatency: the default is 5 µs from link to link, and Run stops where it is
// told to.
func TestLatency(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.shoot(10*µs, bth.RCSendOnly, 1)
	require.NoError(t, w.Run(14*µs))
	require.Empty(t, hb.heard)
	require.Equal(t, 14*µs, w.Now())
	require.EqualValues(t, 1, w.Stats().InFlight())
	require.NoError(t, w.Run(ms))
	require.Equal(t, []clock.Time{15 * µs}, hb.times)
	require.Equal(t, ms, w.Now())
}

// TestBandwidth: 76 bytes of BTH, payload and ICRC are 142 bytes on the wire,
// 1136 ns at 1 Gbit/s; two wires and two latencies, and the second frame right
// behind the first.
func TestBandwidth(t *testing.T) {
	w, a, b := pair(1, simnet.Bandwidth(1e9), simnet.Latency(time.Microsecond))
	ha, hb := join(t, w, a, b)
	ha.shoot(0, bth.RCSendOnly, 1)
	ha.shoot(0, bth.RCSendOnly, 2)
	require.NoError(t, w.Run(clock.Never))
	const onWire = (20 + 8 + 12 + 64 + 4 + 38) * 8
	first := clock.Time(2*onWire) + 2*µs
	require.Equal(t, []clock.Time{first, first + onWire}, hb.times)
}

// TestTies: what is due at the same instant happens in the order in which it was
// scheduled, and devices are polled in the order in which they were attached. The
// hub's bandwidth shows the order of the ties at the switch; ties at the switch and
// again at the hub, both in reverse, would look right.
func TestTies(t *testing.T) {
	w := simnet.New(1)
	hub := w.Link("hub", addrA, simnet.Bandwidth(100e9))
	var links []*simnet.Link
	for i := range byte(20) {
		links = append(links, w.Link(string('b'+rune(i)), netip.AddrFrom4([4]byte{10, 0, 1, i})))
	}
	hosts := make([]*host, len(links))
	for i := range links { // attached backwards
		l := links[len(links)-1-i]
		hosts[i] = &host{q: l.Queue(), path: pathTo(t, l, hub), qpn: 1}
		hosts[i].shoot(5*µs, bth.RCSendOnly, bth.PSN(i))
		w.Attach(hosts[i])
	}
	center := &host{q: hub.Queue(), path: pathTo(t, hub, links[0])}
	w.Attach(center)
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", center.list())
}

// TestStep: one step is one instant.
func TestStep(t *testing.T) {
	w, a, b := pair(1)
	ha, _ := join(t, w, a, b)
	ha.shoot(2*µs, bth.RCSendOnly, 1)
	var at []clock.Time
	for more, err := w.Step(); more; more, err = w.Step() {
		require.NoError(t, err)
		at = append(at, w.Now())
	}
	require.Equal(t, []clock.Time{2 * µs, 2*µs + 2500, 7 * µs}, at)
}

// TestRunUntil: stops at the instant at which the condition comes true, or says
// why it did not.
func TestRunUntil(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.sends()
	require.NoError(t, w.RunUntil(func() bool { return len(hb.heard) == 3 }, limit))
	require.Equal(t, 7*µs, w.Now())
	err := w.RunUntil(func() bool { return len(hb.heard) == 11 }, limit)
	require.ErrorContains(t, err, "gave up at 14µs")
	require.ErrorContains(t, err, "10 sent, 10 delivered, 0 in flight")
}

// TestRunUntilCondMakesWork: the condition may use the devices.
func TestRunUntilCondMakesWork(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	require.NoError(t, w.RunUntil(func() bool {
		if len(ha.plan) == 0 && len(hb.heard) == 0 && w.Now() == 0 {
			ha.shoot(0, bth.RCSendOnly, 1)
		}
		return len(hb.heard) > 0
	}, limit))
}

// restless is a device that never has enough.
type restless struct {
	works    bool
	deadline clock.Time
}

func (r *restless) Poll() bool               { return r.works }
func (r *restless) NextDeadline() clock.Time { return r.deadline }

// TestTimeStandsStill: a device that works for ever at one instant is an error
// that names it, not a hang.
func TestTimeStandsStill(t *testing.T) {
	w := simnet.New(1)
	w.Attach(&restless{works: true, deadline: clock.Never})
	require.ErrorContains(t, w.Run(limit), "device 0 (*simnet_test.restless) still reports work")
	w = simnet.New(1)
	w.Attach(&restless{deadline: 3 * µs})
	require.ErrorContains(t, w.Run(limit), "time stands still at 3µs")
}

// TestRealTimeRefusesRun: that world runs by itself.
func TestRealTimeRefusesRun(t *testing.T) {
	require.ErrorContains(t, simnet.New(1, simnet.RealTime()).Run(limit), "make it without RealTime")
}

// TestDrops: what the network cannot carry is dropped and counted with its reason.
func TestDrops(t *testing.T) {
	t.Run("too long", func(t *testing.T) {
		w, a, b := pair(1, simnet.MTU(300))
		ha, hb := join(t, w, a, b)
		ha.shoot(0, bth.RCSendOnly, 1)
		ha.plan[0].payload = 300 - 20 - 8 - 12 - 4
		ha.shoot(0, bth.RCSendOnly, 2)
		ha.plan[1].payload = ha.plan[0].payload + 4
		require.NoError(t, w.Run(clock.Never))
		require.Equal(t, "1", hb.list())
		require.EqualValues(t, 1, w.Stats().Drops[simnet.TooLong])
	})
	t.Run("closed", func(t *testing.T) {
		w, a, b := pair(1)
		ha, hb := join(t, w, a, b)
		ha.sends()
		require.NoError(t, w.Run(8*µs)) // four have arrived
		require.NoError(t, b.Close())
		require.NoError(t, w.Run(clock.Never))
		require.Equal(t, "0 1 2 3", hb.list())
		require.EqualValues(t, 6, w.Stats().Drops[simnet.NoAddress])
	})
	t.Run("inbox full", func(t *testing.T) {
		w, a, b := pair(1)
		for i := range uint16(5000) {
			a.Inject(link.Meta{Src: addrA, Dst: addrB, ID: i}, nil)
		}
		require.NoError(t, w.Run(clock.Never))
		require.EqualValues(t, 904, w.Stats().Drops[simnet.InboxFull])
		var rx [1]link.Rx
		require.Equal(t, 1, b.Queue().Recv(rx[:]))
		require.Zero(t, rx[0].Meta.ID)
	})
}

// TestReleasedMemoryIsWiped: who keeps a frame beyond Release does not see what was
// in it.
func TestReleasedMemoryIsWiped(t *testing.T) {
	w, a, b := pair(1)
	a.Inject(link.Meta{Src: addrA, Dst: addrB}, []byte{1, 2, 3})
	require.NoError(t, w.Run(clock.Never))
	var rx [1]link.Rx
	require.Equal(t, 1, b.Queue().Recv(rx[:]))
	require.Equal(t, []byte{1, 2, 3}, rx[0].Frag[0])
	b.Queue().Release()
	require.Equal(t, []byte{0xdb, 0xdb, 0xdb}, rx[0].Frag[0])
}

// TestMistakes: errors and panics say what is wrong.
func TestMistakes(t *testing.T) {
	w, a, b := pair(1)
	require.PanicsWithValue(t, `simnet: there is already a link "a"`, func() { w.Link("a", netip.IPv6Loopback()) })
	require.PanicsWithValue(t, `simnet: link "c" cannot have address 10.0.0.2: link "b" has it`,
		func() { w.Link("c", addrB) })
	require.EqualError(t, a.Resolve(&wire.Path{Src: addrA, Dst: netip.IPv6Loopback()}),
		`simnet: link "a" cannot reach ::1: the addresses of the world are [10.0.0.1 10.0.0.2]`)
	require.NoError(t, b.Close())
	w.Link("c", addrB)
	_, err := b.Queue().Flush()
	require.ErrorIs(t, err, net.ErrClosed)
}
