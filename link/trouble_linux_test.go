package link_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

// The trouble that a network makes under traffic: what can recover does so by the
// transport's retries, and what cannot fails with a clear error, in bounded time. The
// links below the kernel's IP see all of it by themselves.

func TestDownAndUpUnderTraffic(t *testing.T) {
	belowIP(t, func(t *testing.T, s *netns.Street, x, y *end) {
		survive(t, s, x, y, func() {
			setInterface(t, s.A, netlink.LinkSetDown)
			awaitEvent(x.dev, roce.EventPortError)
			setInterface(t, s.A, netlink.LinkSetUp)
			awaitEvent(x.dev, roce.EventPortActive)
		})
	})
}

func TestPeerMovesUnderTraffic(t *testing.T) {
	belowIP(t, func(t *testing.T, s *netns.Street, x, y *end) {
		survive(t, s, x, y, func() {
			setInterface(t, s.B, func(l netlink.Link) error {
				return netlink.LinkSetHardwareAddr(l, []byte{2, 1, 1, 1, 1, 1})
			})
			setInterface(t, s.A, func(l netlink.Link) error { // the kernel forgets the peer
				return netlink.NeighDel(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: s.B.IPv4.AsSlice()})
			})
			awaitEvent(x.dev, roce.EventPeerMoved)
		})
	})
}

// While the address is gone nothing that comes for it is taken. When it is back, the
// queue pairs work after they were connected anew.
func TestAddressRemovedUnderTraffic(t *testing.T) {
	belowIP(t, func(t *testing.T, s *netns.Street, x, y *end) {
		ended := keepWriting(t, x, y, nil)
		address := s.A.IPv4.String() + "/24"
		setInterface(t, s.A, func(l netlink.Link) error {
			a, err := netlink.ParseAddr(address)
			if err != nil {
				return err
			}
			return netlink.AddrDel(l, a)
		})
		awaitEvent(x.dev, roce.EventGIDChange)
		err := <-ended
		var failure *roce.WCError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, roce.StatusRetryExceeded, failure.Status)
		t.Log(err)

		setInterface(t, s.A, func(l netlink.Link) error { return netns.AddAddress(l, address) })
		awaitEvent(x.dev, roce.EventGIDChange)
		reconnect(t, x, y, s, 4096)
		writeOne(t, x, y, writeSize, rand.New(rand.NewPCG(testenv.Seed(t), 0)))
	})
}

func TestInterfaceDeletedUnderTraffic(t *testing.T) {
	belowIP(t, func(t *testing.T, s *netns.Street, x, y *end) {
		ended := keepWriting(t, x, y, nil)
		setInterface(t, s.A, netlink.LinkDel)
		awaitEvent(x.dev, roce.EventDeviceFatal)
		err := <-ended
		require.Error(t, err) // the work is flushed, or the link's failure came first
		t.Log(err)
		require.Equal(t, link.Gone.String(), x.dev.Port().State)
		require.NoError(t, x.dev.Close())
	})
}

// belowIP runs a test over each link below the kernel's IP, with two connected ends.
func belowIP(t *testing.T, f func(t *testing.T, s *netns.Street, x, y *end)) {
	for _, name := range []string{"raw", "xdp"} {
		t.Run(name, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			x, y := connect(t, openers[name], openers[name], s)
			f(t, s, x, y)
		})
	}
}

// survive makes trouble under traffic, none of which may fail, nor what comes after.
func survive(t *testing.T, s *netns.Street, x, y *end, trouble func()) {
	t.Helper()
	reconnect(t, x, y, s, 4096) // with retries for 7 s
	done := make(chan struct{})
	ended := keepWriting(t, x, y, done)
	trouble()
	close(done)
	require.NoError(t, <-ended)
	writeOne(t, x, y, writeSize, rand.New(rand.NewPCG(testenv.Seed(t), 0)))
}

// keepWriting writes from x to y, again and again, until that fails or done is closed,
// and tells how it ended. When it returns, the traffic is under way.
func keepWriting(t *testing.T, x, y *end, done <-chan struct{}) (ended <-chan error) {
	t.Helper()
	first, end := make(chan error), make(chan error, 1)
	go func() {
		err := tryWrite(x, y)
		first <- err
		for err == nil {
			select {
			case <-done:
				end <- nil
				return
			default:
				err = tryWrite(x, y)
			}
		}
		end <- err
	}()
	require.NoError(t, <-first)
	return end
}

// tryWrite writes from x to y, and returns what came of it.
func tryWrite(x, y *end) error {
	r := y.mr.Remote()
	_, err := x.qp.PostSend(roce.SendWR{
		Op: roce.OpWrite, SGE: x.mr.SGE(0, writeSize), Flags: roce.Signaled, RemoteAddr: r.Addr, RKey: r.Key,
	})
	if err != nil {
		return err
	}
	if _, err = x.cq.Wait(x.t.Context(), x.wcs[:1]); err != nil {
		return err
	}
	return x.wcs[0].Err()
}
