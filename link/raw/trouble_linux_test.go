package raw

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// The trouble that a network makes under traffic: what can recover does so by the
// transport's retries, and what cannot fails with a clear error, in bounded time.

// trouble is two connected devices and what lies under them.
type trouble struct {
	*network
	t    *testing.T
	la   *Link
	a, b *end
	ctx  context.Context
}

func newTrouble(t *testing.T, timeout, retries uint8) *trouble {
	t.Helper()
	w := newNetwork(t, 1500)
	x := &trouble{network: w, t: t, la: w.openA(Addrs(addr("10.9.0.1")))}
	x.a, x.b = newEnd(t, x.la), newEnd(t, w.openB(Addrs(addr("10.9.0.2"))))
	retry := roce.WithRetry(timeout, retries, 7)
	require.NoError(t, x.a.conn.QP().Connect(x.b.conn.QP().Info(), retry))
	require.NoError(t, x.b.conn.QP().Connect(x.a.conn.QP().Info(), retry))
	var cancel context.CancelFunc
	x.ctx, cancel = context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	require.NoError(t, x.write())
	return x
}

func (x *trouble) write() error {
	return x.a.conn.Write(x.ctx, x.a.mr.SGE(0, memory), x.b.mr.Remote())
}

// during writes on and on while f runs, and returns the first error.
func (x *trouble) during(f func()) error {
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := x.write(); err != nil {
				failed <- err
				return
			}
		}
	}()
	f()
	close(stop)
	return <-failed
}

func TestDownAndUpUnderTraffic(t *testing.T) {
	x := newTrouble(t, 18, 7) // retries for 7 s
	require.NoError(t, x.during(func() {
		change(x.network.a, func() error { return netlink.LinkSetDown(must(netlink.LinkByName("va"))) })
		expectDeviceEvent(t, x.a.dev, roce.EventPortError)
		change(x.network.a, func() error { return netlink.LinkSetUp(must(netlink.LinkByName("va"))) })
		expectDeviceEvent(t, x.a.dev, roce.EventPortActive)
	}))
	require.NoError(t, x.write())
}

func TestPeerMovesUnderTraffic(t *testing.T) {
	x := newTrouble(t, 18, 7)
	require.NoError(t, x.during(func() {
		setMAC(x.network.b, "vb", wire.MAC{2, 1, 1, 1, 1, 1})
		forget(x.network.b, x.network.a, "vb", "va", "10.9.0.2", "10.9.0.1")
		expectDeviceEvent(t, x.a.dev, roce.EventPeerMoved)
	}))
	require.NoError(t, x.write())
}

func TestAddressRemovedUnderTraffic(t *testing.T) {
	x := newTrouble(t, 12, 3) // retries for 67 ms
	change(x.network.a, func() error {
		return netlink.AddrDel(must(netlink.LinkByName("va")), must(netlink.ParseAddr("10.9.0.1/24")))
	})
	expectDeviceEvent(t, x.a.dev, roce.EventGIDChange)
	err := x.write()
	var failure *roce.WCError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, roce.StatusRetryExceeded, failure.Status)
	t.Log(err)
}

func TestInterfaceDeletedUnderTraffic(t *testing.T) {
	x := newTrouble(t, 18, 7)
	err := x.during(func() {
		change(x.network.a, func() error { return netlink.LinkDel(must(netlink.LinkByName("va"))) })
		expectDeviceEvent(t, x.a.dev, roce.EventDeviceFatal)
	})
	if err == nil {
		err = x.write()
	}
	require.Error(t, err) // the work is flushed, or the link's failure came first
	t.Log(err)
	require.Equal(t, link.Gone, x.la.State())
	require.NoError(t, x.a.dev.Close())
}
