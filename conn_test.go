package roce_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
)

// connEnd is a device that runs by itself, with one Conn and one region.
type connEnd struct {
	dev  *roce.Device
	pd   *roce.PD
	conn *roce.Conn
	mr   *roce.MR
}

func newConnEnd(t testing.TB, l link.Link, opts ...roce.Option) *connEnd {
	t.Helper()
	dev, err := roce.Open(l, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	e := &connEnd{dev: dev}
	e.pd, err = dev.AllocPD()
	require.NoError(t, err)
	e.mr, err = e.pd.RegMR(make([]byte, bufferSize), allRights)
	require.NoError(t, err)
	e.conn, err = e.pd.CreateConn(roce.ConnConfig{})
	require.NoError(t, err)
	return e
}

// join connects two ends, patiently: the machine may be busy.
func join(t testing.TB, a, b *connEnd, opts ...roce.ConnectOption) {
	t.Helper()
	opts = append([]roce.ConnectOption{roce.WithRetry(20, 7, 7)}, opts...)
	require.NoError(t, a.conn.QP().Connect(b.conn.QP().Info(), opts...))
	require.NoError(t, b.conn.QP().Connect(a.conn.QP().Info(), opts...))
}

// newConns is two connected ends on a simulated network in real time.
func newConns(t testing.TB, opts ...roce.ConnectOption) (w *simnet.World, a, b *connEnd) {
	t.Helper()
	w = simnet.New(1, simnet.RealTime())
	a = newConnEnd(t, w.Link("a", netip.MustParseAddr("10.0.0.1")))
	b = newConnEnd(t, w.Link("b", netip.MustParseAddr("10.0.0.2")))
	join(t, a, b, opts...)
	return w, a, b
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestConnOperations(t *testing.T) {
	_, a, b := newConns(t)
	connOperations(t, a, b)
}

func connOperations(t *testing.T, a, b *connEnd) {
	t.Helper()
	ctx := testContext(t)
	fill(a.mr.Bytes(), 1)
	remote := b.mr.Remote()

	require.NoError(t, a.conn.Write(ctx, a.mr.SGE(0, 5000), remote.Slice(100, 5000)))
	require.Equal(t, a.mr.Bytes()[:5000], b.mr.Bytes()[100:5100])
	require.NoError(t, a.conn.Read(ctx, a.mr.SGE(10_000, 5000), remote.Slice(100, 5000)))
	require.Equal(t, a.mr.Bytes()[:5000], a.mr.Bytes()[10_000:15_000])

	word := remote.Slice(40_000, 8)
	old, err := a.conn.FetchAdd(ctx, word, 41)
	require.NoError(t, err)
	require.Zero(t, old)
	old, err = a.conn.CompareSwap(ctx, word, 41, 7)
	require.NoError(t, err)
	require.EqualValues(t, 41, old)
	require.EqualValues(t, 7, b.mr.LoadUint64(40_000))

	var peer sync.WaitGroup
	peer.Go(func() {
		for _, want := range []roce.Received{
			{Len: 3}, {Len: 4, Imm: 9, HasImm: true}, {Len: 2000, Imm: 10, HasImm: true, WriteImm: true},
		} {
			got, err := b.conn.Recv(ctx, b.mr.SGE(50_000, 100))
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
	})
	require.NoError(t, a.conn.Send(ctx, a.mr.SGE(0, 3)))
	require.NoError(t, a.conn.SendImm(ctx, a.mr.SGE(0, 4), 9))
	require.NoError(t, a.conn.WriteImm(ctx, a.mr.SGE(0, 2000), remote, 10))
	peer.Wait()
	require.NoError(t, a.conn.QP().Err())
}

// Calls of many goroutines overlap, and each gets its own result.
func TestConnIsSafeForConcurrentUse(t *testing.T) {
	_, a, b := newConns(t)
	ctx := testContext(t)
	at := b.mr.Remote().Slice(0, 8)
	var seen [400]atomic.Bool
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range len(seen) / 8 {
				old, err := a.conn.FetchAdd(ctx, at, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if seen[old].Swap(true) {
					t.Errorf("%d returned twice", old)
				}
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, len(seen), b.mr.LoadUint64(0))
}

// More calls than slots wait for a slot.
func TestConnMoreCallsThanDepth(t *testing.T) {
	w := simnet.New(1, simnet.RealTime())
	a := newConnEnd(t, w.Link("a", netip.MustParseAddr("10.0.0.1")))
	b := newConnEnd(t, w.Link("b", netip.MustParseAddr("10.0.0.2")))
	var err error
	a.conn, err = a.pd.CreateConn(roce.ConnConfig{SendDepth: 2, RecvDepth: 2})
	require.NoError(t, err)
	join(t, a, b)
	ctx := testContext(t)
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			for range 20 {
				if err := a.conn.Write(ctx, a.mr.SGE(0, 8), b.mr.Remote()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
}

// A context that ends aborts the connection: every call returns, and none before
// the device has let go of its buffer.
func TestConnCancel(t *testing.T) {
	_, a, b := newConns(t)
	background := testContext(t)
	ctx, cancel := context.WithCancel(background)
	var received atomic.Int32
	var callers, sender sync.WaitGroup
	for i := range 3 {
		callers.Go(func() {
			dst := a.mr.Bytes()[i*1000 : i*1000+1000]
			for {
				_, err := a.conn.Recv(ctx, a.mr.SGE(i*1000, 1000))
				clear(dst) // a race, if the device still wrote here
				if err != nil {
					return
				}
				received.Add(1)
			}
		})
	}
	sender.Go(func() {
		for b.conn.Send(background, b.mr.SGE(0, 1000)) == nil {
			if received.Load() > 50 {
				cancel()
			}
		}
	})
	callers.Wait()
	require.Equal(t, roce.StateErr, a.conn.QP().State())
	require.ErrorIs(t, a.conn.Write(background, a.mr.SGE(0, 8), b.mr.Remote()), roce.ErrFlushed)
	require.NoError(t, b.conn.Close()) // else it retries for long
	sender.Wait()
}

func TestConnCancelSaysSo(t *testing.T) {
	_, a, _ := newConns(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := a.conn.Recv(ctx, a.mr.SGE(0, 100))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "receive aborted, and with it QP 0x")
}

func TestConnCancelledBeforeItBegins(t *testing.T) {
	_, a, b := newConns(t)
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	err := a.conn.Write(ctx, a.mr.SGE(0, 8), b.mr.Remote())
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestConnCloseEndsCalls(t *testing.T) {
	for name, end := range map[string]func(e *connEnd) error{
		"Conn":   func(e *connEnd) error { return e.conn.Close() },
		"QP":     func(e *connEnd) error { return e.conn.QP().Modify(roce.QPAttr{State: roce.StateErr}, roce.AttrState) },
		"Device": func(e *connEnd) error { return e.dev.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			_, a, _ := newConns(t)
			started, results := make(chan struct{}, 5), make(chan error, 5)
			for range 5 {
				go func() {
					started <- struct{}{}
					_, err := a.conn.Recv(context.Background(), a.mr.SGE(0, 100))
					results <- err
				}()
			}
			for range 5 {
				<-started
			}
			require.NoError(t, end(a))
			for range 5 {
				err := <-results
				if name == "QP" {
					require.ErrorIs(t, err, roce.ErrFlushed)
				} else {
					require.ErrorIs(t, err, net.ErrClosed)
				}
			}
			if name != "QP" {
				require.ErrorIs(t, a.conn.Send(context.Background(), a.mr.SGE(0, 1)), net.ErrClosed)
			}
			require.NoError(t, a.conn.Close())
			require.NoError(t, a.conn.Close())
		})
	}
}

// A refused call says so, and the calls after it say why the connection is gone.
func TestConnRefused(t *testing.T) {
	_, a, b := newConns(t)
	ctx := testContext(t)
	remote := b.mr.Remote()
	remote.Key ^= 0xff
	err := a.conn.Write(ctx, a.mr.SGE(0, 8), remote)
	var refused *roce.RemoteError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, roce.StatusRemoteAccess, refused.Status)

	err = a.conn.Send(ctx, a.mr.SGE(0, 8))
	require.ErrorIs(t, err, roce.ErrFlushed)
	var cause *roce.QPError
	require.ErrorAs(t, err, &cause)
	require.ErrorContains(t, err, "check key, address, length and rights")
}

// Devices and regions are closed while traffic runs: nothing panics or hangs.
func TestCloseUnderTraffic(t *testing.T) {
	for name, end := range map[string]func(b *connEnd) error{
		"region":      func(b *connEnd) error { return b.mr.Close() },
		"peer's Conn": func(b *connEnd) error { return b.conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			_, a, b := newConns(t, roce.WithRetry(16, 1, 7))
			var callers sync.WaitGroup
			var done atomic.Int32
			for i := range 4 {
				callers.Go(func() {
					for {
						if err := a.conn.Write(context.Background(), a.mr.SGE(i*4096, 4096), b.mr.Remote()); err != nil {
							return
						}
						done.Add(1)
					}
				})
			}
			for done.Load() < 20 {
				require.NoError(t, a.conn.QP().Err(), "before anything was closed")
				time.Sleep(10 * time.Microsecond)
			}
			require.NoError(t, end(b))
			if name == "region" {
				clear(b.mr.Bytes()) // a race, if the device still wrote here
			}
			callers.Wait()
			require.Error(t, a.conn.QP().Err())
		})
	}
}

// Memory that is polled: whoever sees the last word of a message sees all of it.
func TestPolledMemory(t *testing.T) {
	_, a, b := newConns(t)
	ctx := testContext(t)
	polled, err := b.pd.RegMR(make([]byte, 3000), roce.AccessLocalWrite|roce.AccessRemoteWrite|roce.AccessPolled)
	require.NoError(t, err)
	for round := uint64(1); round <= 50; round++ {
		msg := a.mr.Bytes()[:3000]
		fill(msg, int(round))
		binary.NativeEndian.PutUint64(msg[2992:], round)
		written := make(chan error, 1)
		go func() { written <- a.conn.Write(ctx, a.mr.SGE(0, 3000), polled.Remote()) }()
		for polled.LoadUint64(2992) != round {
			runtime.Gosched()
		}
		require.Equal(t, msg, polled.Bytes(), "round %d", round)
		require.NoError(t, <-written)
	}
}

// C11: nobody waits in the CQ; a select loop sleeps on its channel instead.
func TestNotify(t *testing.T) {
	_, a, b := newConns(t)
	cq, err := a.dev.CreateCQ(16)
	require.NoError(t, err)
	q, err := a.pd.CreateQP(roce.QPConfig{SendCQ: cq})
	require.NoError(t, err)
	peerCQ, err := b.dev.CreateCQ(16)
	require.NoError(t, err)
	peer, err := b.pd.CreateQP(roce.QPConfig{SendCQ: peerCQ})
	require.NoError(t, err)
	require.NoError(t, q.Connect(peer.Info(), roce.WithRetry(20, 7, 7)))
	require.NoError(t, peer.Connect(q.Info()))
	ctx := testContext(t)
	out := make([]roce.WC, 4)
	for range 300 {
		_, err := q.PostSend(roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled})
		require.NoError(t, err)
		for n := 0; n == 0; n = cq.Poll(out) {
			select {
			case <-cq.Notify():
			case <-ctx.Done():
				t.Fatal("no event")
			}
		}
		require.NoError(t, out[0].Err())
	}
	require.Zero(t, q.Stats().Retransmitted)
	require.NoError(t, q.Close())
	require.NoError(t, cq.Close())
	for range cq.Notify() { // ends: the channel is closed
	}
}
