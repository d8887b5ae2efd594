package simnet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/simnet"
)

// TestFaults sends PSN 0 to 9, a microsecond apart, through one fault each.
func TestFaults(t *testing.T) {
	third := simnet.Match{PSN: new(bth.PSN(3))}
	for _, c := range []struct {
		name  string
		fault *simnet.Fault
		want  string
		hits  int
	}{
		{"none", simnet.Drop(simnet.Match{From: "b"}), "0 1 2 3 4 5 6 7 8 9", 0},
		{"drop a PSN", simnet.Drop(third), "0 1 2 4 5 6 7 8 9", 1},
		{"drop by opcode", simnet.Drop(simnet.Match{Op: new(bth.RCSendFirst)}), "0 2 4 6 8", 5},
		{"drop the second Only", simnet.Drop(simnet.Match{Op: new(bth.RCSendOnly), Nth: 2}), "0 1 3 4 5 6 7 8 9", 1},
		{"drop two from the third", simnet.Drop(simnet.Match{Nth: 3, Count: 2}), "0 1 4 5 6 7 8 9", 2},
		{"drop the first three", simnet.Drop(simnet.Match{Count: 3}), "3 4 5 6 7 8 9", 3},
		{"drop what has flags", simnet.Drop(simnet.Match{Has: bth.First | bth.Last}), "1 3 5 7 9", 5},
		{"drop what lacks flags", simnet.Drop(simnet.Match{Has: bth.Send, Lacks: bth.Last}), "0 2 4 6 8", 5},
		{"drop by QPN", simnet.Drop(simnet.Match{QPN: qpnB}), "", 10},
		{"drop by another QPN", simnet.Drop(simnet.Match{QPN: qpnA}), "0 1 2 3 4 5 6 7 8 9", 0},
		{"drop by link", simnet.Drop(simnet.Match{From: "a", To: "b"}), "", 10},
		{"drop by predicate", simnet.Drop(simnet.Match{If: func(p *bth.Packet) bool { return p.PSN > 7 }}), "0 1 2 3 4 5 6 7", 2},
		{"duplicate", simnet.Duplicate(third), "0 1 2 3 3 4 5 6 7 8 9", 1},
		{"delay", simnet.Delay(third, 3500*time.Nanosecond), "0 1 2 4 5 6 3 7 8 9", 1},
		{"reorder by one", simnet.Reorder(third, 1), "0 1 2 4 3 5 6 7 8 9", 1},
		{"reorder by two", simnet.Reorder(third, 2), "0 1 2 4 5 3 6 7 8 9", 1},
		{"reorder all by one", simnet.Reorder(simnet.Match{}, 1), "0 1 2 3 4 5 6 7 8 9", 10},
		{"reorder beyond the end", simnet.Reorder(third, 20), "0 1 2 4 5 6 7 8 9 3", 1},
		{"corrupt the ICRC", simnet.Corrupt(third, -1), "0 1 2 3! 4 5 6 7 8 9", 1},
		{"corrupt the payload", simnet.Corrupt(third, 8*12), "0 1 2 3! 4 5 6 7 8 9", 1},
		{"corrupt beyond the end", simnet.Corrupt(third, 8*5000), "0 1 2 3 4 5 6 7 8 9", 0},
		{"mark", simnet.MarkCE(third), "0 1 2 3* 4 5 6 7 8 9", 1},
		{"partition", simnet.Partition("b", "a"), "", 10},
		{"partition of others", simnet.Partition("b", "c"), "0 1 2 3 4 5 6 7 8 9", 0},
		{"lose all", simnet.Randomly(simnet.Match{To: "b"}, simnet.Random{Loss: 1}), "", 10},
		{"no bad luck", simnet.Randomly(simnet.Match{}, simnet.Random{}), "0 1 2 3 4 5 6 7 8 9", 0},
		{"mark all", simnet.Randomly(simnet.Match{}, simnet.Random{CE: 1}), "0* 1* 2* 3* 4* 5* 6* 7* 8* 9*", 10},
		{"duplicate all", simnet.Randomly(simnet.Match{}, simnet.Random{Dup: 1}),
			"0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, a, b := pair(1)
			ha, hb := join(t, w, a, b)
			ha.sends()
			w.Faults.Add(c.fault)
			require.NoError(t, w.Run(clock.Never))
			require.Equal(t, c.want, hb.list())
			require.Equal(t, c.hits, w.Faults.Hits(c.fault))
			require.Zero(t, w.Stats().InFlight(), "%v", w.Stats())
		})
	}
}

// TestReorderGivesUp: a frame that nothing overtakes waits one millisecond.
func TestReorderGivesUp(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.shoot(0, bth.RCSendOnly, 1)
	w.Faults.Add(simnet.Reorder(simnet.Match{}, 1))
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, []clock.Time{ms + 5*µs}, hb.times)
}

// TestDropSecondAck: a match by opcode and direction meets what the peer answers.
func TestDropSecondAck(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.sends()
	for i := range ha.plan {
		ha.plan[i].packet.AckReq = true
	}
	w.Faults.Add(simnet.Drop(simnet.Match{From: "b", To: "a", Op: new(bth.RCAcknowledge), Nth: 2}))
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, "0 1 2 3 4 5 6 7 8 9", hb.list())
	require.Equal(t, "0 2 3 4 5 6 7 8 9", ha.list())
}

// TestTransmission: retransmissions are told from first transmissions.
func TestTransmission(t *testing.T) {
	for _, c := range []struct {
		transmission int
		want         string
	}{
		{1, "2 1 2"}, {2, "0 1 2"}, {3, "0 1 2 1 2"},
	} {
		w, a, b := pair(1)
		ha, hb := join(t, w, a, b)
		for i, psn := range []bth.PSN{0, 1, 2, 1, 2} {
			ha.shoot(clock.Time(i)*µs, bth.RCSendOnly, psn)
		}
		w.Faults.Add(simnet.Drop(simnet.Match{Transmission: c.transmission, Count: 2}))
		require.NoError(t, w.Run(clock.Never))
		require.Equal(t, c.want, hb.list(), "transmission %d", c.transmission)
	}
}

// TestPartitionHeals: what is sent before Remove is lost, what comes later is not.
func TestPartitionHeals(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.sends()
	cut := simnet.Partition("a", "b")
	w.Faults.Add(cut)
	require.NoError(t, w.Run(7*µs)) // PSN 4 reaches the switch at 6.5 µs
	w.Faults.Remove(cut)
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, "5 6 7 8 9", hb.list())
}

// TestFaultsInOrder: a dropped frame does not meet the faults behind.
func TestFaultsInOrder(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.sends()
	every, first := simnet.Drop(simnet.Match{Count: 4}), simnet.Corrupt(simnet.Match{Nth: 1}, -1)
	w.Faults.Add(every, first)
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, "4! 5 6 7 8 9", hb.list())
}

// TestMarkNeedsECT: a switch marks only transports that say they react.
func TestMarkNeedsECT(t *testing.T) {
	w, a, b := pair(1)
	ha, hb := join(t, w, a, b)
	ha.path.TrafficClass = 0
	ha.sends()
	w.Faults.Add(simnet.MarkCE(simnet.Match{}))
	require.NoError(t, w.Run(clock.Never))
	require.Equal(t, "0 1 2 3 4 5 6 7 8 9", hb.list())
	require.Zero(t, w.Stats().Steps[simnet.Marked])
}
