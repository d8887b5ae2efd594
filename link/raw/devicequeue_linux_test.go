package raw

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
)

// shape has an interface send 1 MB/s at most, and no packet of more than 2000 bytes at
// all: a token bucket as an administrator sets one up (tc-tbf(8)).
func shape(ns namespace, ifname string) {
	ns.t.Helper()
	const (
		rate  = 1_000_000                         // bytes per second
		burst = 2000                              // bytes
		ticks = burst * 1_000_000_000 / rate / 64 // of 64 ns, in which a burst is sent
	)
	change(ns, func() error {
		return netlink.QdiscAdd(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: must(netlink.LinkByName(ifname)).Attrs().Index,
				Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
			Rate: rate, Buffer: ticks, Limit: 20 * burst,
		})
	})
}

// What the device's queue never takes is lost, counted, and does not hold up what
// comes after it.
func TestDeviceQueueNeverTakesAPacket(t *testing.T) {
	w := newNetwork(t, 9000)
	a, b := w.openA(), w.openB()
	large, small := resolved(t, a, "10.9.0.1", "10.9.0.2"), resolved(t, a, "10.9.0.1", "10.9.0.4")
	shape(w.a, "va")
	put(a.queue, large, 1, 4096)
	put(a.queue, small, 2, 64)
	const enough = 10_000
	flushes := 0
	for pending := 1; pending > 0; flushes++ {
		require.Less(t, flushes, enough, "packets are still pending")
		var err error
		pending, err = a.queue.Flush()
		require.NoError(t, err)
	}
	require.Equal(t, byte(2), await(t, b.queue, 1)[0][0])
	require.Equal(t, uint64(1), counter(a, "raw: not sent, the device's queue stayed full"))
	t.Logf("%d flushes", flushes)
}

// A device's queue that is full for a while keeps packets back, or loses them at last;
// memory moves all the same, by the transport's retries.
func TestShapedDevice(t *testing.T) {
	w := newNetwork(t, 1500)
	l := w.openA(Addrs(addr("10.9.0.1")))
	a, b := newEnd(t, l), newEnd(t, w.openB(Addrs(addr("10.9.0.2"))))
	shape(w.a, "va")
	retry := roce.WithRetry(14, 7, 7) // each after 67 ms
	require.NoError(t, a.conn.QP().Connect(b.conn.QP().Info(), retry))
	require.NoError(t, b.conn.QP().Connect(a.conn.QP().Info(), retry))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const part = 256 << 10
	require.NoError(t, a.conn.Write(ctx, a.mr.SGE(0, part), b.mr.Remote()))
	t.Log(l.Counters())
}
