//go:build linux

package interop

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/link"
)

// connectEnds opens a device on each link and connects an end of one to an end of the
// other. The second link is one on the kernel's sockets in a namespace.
func connectEnds(t *testing.T, a, b link.Link, addrA, addrB netip.Addr, inB *netns.Netns) (x, y *ourEnd) {
	t.Helper()
	for _, e := range []struct {
		link.Link
		netip.Addr
		end **ourEnd
	}{{a, addrA, &x}, {b, addrB, &y}} {
		dev, err := roce.Open(e.Link)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		*e.end = newEnd(t, dev, e.Addr)
	}
	retry := roce.WithRetry(uint8(resilient.timeout), uint8(resilient.retry), uint8(resilient.rnrRetry))
	require.NoError(t, x.qp.Connect(y.qp.Info(), retry))
	require.NoError(t, inB.Do(func() error { return y.qp.Connect(x.qp.Info(), retry) }))
	return x, y
}

// writeBothWays has each end write n messages into the other's memory and compares it.
func writeBothWays(t *testing.T, x, y *ourEnd, n int) {
	t.Helper()
	for i, ends := range [][2]*ourEnd{{x, y}, {y, x}} {
		from, to := ends[0], ends[1]
		for k := range n {
			seed := uint64(100*i + k)
			from.fill(t, sourceOff, maxMessage, seed)
			from.post(t, work{id: uint64(k), op: roce.OpWrite, off: sourceOff, n: maxMessage, at: to.remote(arrivalOff)})
			require.Equal(t, roce.StatusSuccess, from.completions(t, 1)[0].status, "WRITE %d over %s:\n%v\nto %s:\n%v",
				k, from.qp.PD().Device().Name(), from.qp.PD().Device().Stats(), to.qp.PD().Device().Name(), to.qp.PD().Device().Stats())
			want := guest.Pattern(seed, maxMessage)
			to.sync()
			require.True(t, slices.Equal(want, to.mem.Bytes()[arrivalOff:arrivalOff+maxMessage]), "message %d arrived changed", k)
		}
	}
}

// newEnd makes an unconnected end of ours on one of a device's addresses.
func newEnd(t *testing.T, dev *roce.Device, addr netip.Addr) *ourEnd {
	t.Helper()
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	e := &ourEnd{}
	e.mem, err = pd.RegMR(make([]byte, memorySize), allRights)
	require.NoError(t, err)
	e.cq, err = dev.CreateCQ(128)
	require.NoError(t, err)
	index := slices.IndexFunc(dev.GIDs(), func(g roce.GID) bool { return g.Addr() == addr })
	require.GreaterOrEqual(t, index, 0, "%v is none of %v", addr, dev.GIDs())
	e.qp, err = pd.CreateQP(roce.QPConfig{SendCQ: e.cq, GIDIndex: index})
	require.NoError(t, err)
	return e
}
