package simnet_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

// lead is a device's goroutine: it works, and parks until there is more.
func (h *host) lead(stop func() bool) {
	for !stop() {
		if h.Poll() {
			continue
		}
		h.q.Arm(h.NextDeadline(), link.Interest{Rx: true})
		if !h.Poll() && !stop() {
			h.q.Park()
		}
		h.q.Disarm()
	}
}

// TestBubble: in a synctest bubble, goroutines that park see the same times as a
// world that is run.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(1, simnet.RealTime())
		a, b := w.Link("a", addrA), w.Link("b", addrB)
		ha := &host{q: a.Queue(), path: pathTo(t, a, b), qpn: qpnB}
		hb := &host{q: b.Queue(), path: pathTo(t, b, a), qpn: qpnA}
		ha.sends()
		for i := range ha.plan {
			ha.plan[i].packet.AckReq = true
		}
		w.Faults.Add(simnet.Delay(simnet.Match{PSN: new(bth.PSN(3)), From: "a"}, 2500*time.Nanosecond))
		var devices sync.WaitGroup
		devices.Go(func() { ha.lead(func() bool { return len(ha.heard) == 10 }) })
		devices.Go(func() { hb.lead(func() bool { return len(hb.heard) == 10 }) })
		devices.Wait()
		require.Equal(t, "0 1 2 4 5 3 6 7 8 9", hb.list())
		require.Equal(t, hb.list(), ha.list())
		require.Equal(t, 19*µs, w.Now())
		require.Equal(t, []clock.Time{5 * µs, 6 * µs, 7 * µs, 9 * µs, 10 * µs, 10*µs + 500, 11 * µs, 12 * µs, 13 * µs, 14 * µs},
			hb.times)
	})
}
