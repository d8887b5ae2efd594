package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

var hosts atomic.Uint32

// loopback opens a link on a loopback address that no other test uses: the process
// ID is part of it.
func loopback(t testing.TB) *udp.Link {
	t.Helper()
	pid := os.Getpid()
	l, err := udp.Open(netip.AddrFrom4([4]byte{127, byte(pid>>8)&0x3f | 0x40, byte(pid), byte(hosts.Add(1))}))
	require.NoError(t, err)
	return l
}

// patient is the code of an acknowledgement timeout of 4.3 s: where processes fight
// for cores, a spinning thread may not run for hundreds of milliseconds.
const patient = 20

func newRunning(t testing.TB, mode Mode) *running {
	r := &running{a: newSide(t, loopback(t), withMode(mode)), b: newSide(t, loopback(t), withMode(mode))}
	r.a.timeout, r.b.timeout = patient, patient
	r.qa, r.qb = r.a.qp(), r.b.qp()
	r.a.connect(r.qa, r.qb)
	r.b.connect(r.qb, r.qa)
	return r
}

// noRetransmission fails if a packet had to be sent again: then a wake-up was
// lost, and only the peer's timer, or its impatience, mended it.
func (r *running) noRetransmission(t testing.TB) {
	t.Helper()
	for _, s := range []*side{r.a, r.b} {
		c := s.shard.Counters()
		for cause := transport.CauseTimeout; cause <= transport.CauseRNR; cause++ {
			require.Zero(t, c.ByCause[cause], "%s: %s", s.link.Name(), cause)
		}
	}
}

// testContext ends what a lost wake-up would let hang for ever.
func testContext(t testing.TB) context.Context {
	limit := time.Minute
	if testenv.Full() {
		limit = time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// C11: blocking ping-pong; every message needs a wake-up on the other side.
func TestBlockingPingPongLosesNoWakeUp(t *testing.T) {
	for name, c := range map[string]struct {
		mode        Mode
		short, full int
	}{"Auto": {Auto, 5_000, 1_000_000}, "Busy": {Busy, 500, 100_000}} {
		t.Run(name, func(t *testing.T) {
			rounds := c.short
			if testenv.Full() {
				rounds = c.full
			}
			r := newRunning(t, c.mode)
			ctx := testContext(t)
			for s, q := range map[*side]*QP{r.a: r.qa, r.b: r.qb} { // before the first message
				require.NoError(t, q.PostRecv(&qp.RecvWR{ID: 1, SGE: s.sge(0, 64)}))
			}
			var both sync.WaitGroup
			both.Go(func() { pingPong(ctx, t, r.b, r.qb, rounds, false) })
			both.Go(func() { pingPong(ctx, t, r.a, r.qa, rounds, true) })
			both.Wait()
			r.noRetransmission(t)
		})
	}
}

// pingPong receives rounds messages and answers each; the client begins. The first
// receive is posted.
func pingPong(ctx context.Context, t *testing.T, s *side, q *QP, rounds int, client bool) {
	recv := qp.RecvWR{ID: 1, SGE: s.sge(0, 64)}
	send := qp.SendWR{ID: 2, Op: qp.OpSend, SGE: s.sge(64, 64), Flags: qp.Signaled}
	check := func(err error) bool {
		if err != nil {
			t.Errorf("%s: %v", s.link.Name(), err)
		}
		return err == nil
	}
	if client {
		check(q.PostSend(&send))
		q.Ring()
	}
	out := make([]cq.WC, 8)
	for received := 0; received < rounds; {
		n, err := s.cq.Wait(ctx, out)
		if !check(err) {
			return
		}
		for _, wc := range out[:n] {
			if wc.Status != cq.StatusSuccess {
				t.Errorf("%s: %v", s.link.Name(), wc.Status)
				return
			}
			if wc.ID != 1 {
				continue
			}
			received++
			check(q.PostRecv(&recv))
			if !client || received < rounds {
				check(q.PostSend(&send))
				q.Ring()
			}
		}
	}
}

// A peer that does nothing still answers READs: the background leads.
func TestOneSidedWorkNeedsNoHelp(t *testing.T) {
	r := newRunning(t, Auto)
	ctx := testContext(t)
	peer := r.b.region
	copy(peer.Bytes(), "behind your back")
	for range 20 {
		post(t, r.qa, qp.SendWR{Op: qp.OpRead, SGE: r.a.sge(0, 16), RemoteAddr: peer.Base(), RKey: peer.RKey()})
		wcs, err := r.a.wait(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, cq.StatusSuccess, wcs[0].Status)
	}
	require.Equal(t, "behind your back", string(r.a.region.Bytes()[:16]))
}

// Several goroutines wait on one CQ, others on another one of the same shard; all
// completions are seen, each once.
func TestManyWaiters(t *testing.T) {
	r := newRunning(t, Auto)
	second := r.a.shard.NewCQ(256, nil)
	q2, err := r.a.shard.NewQP(QPConfig{PD: testPD, SendCQ: second, RecvCQ: second, SendDepth: 64, RecvDepth: 1, MaxSGE: 1})
	require.NoError(t, err)
	peer := r.b.qp()
	r.a.connect(q2, peer)
	r.b.connect(peer, q2)

	const each = 2000
	ctx := testContext(t)
	var waiters, posters sync.WaitGroup
	for c, q := range map[*CQ]*QP{r.a.cq: r.qa, second: q2} {
		credits := make(chan struct{}, 64)
		var left atomic.Int64
		left.Store(each)
		done, finish := context.WithCancel(ctx)
		t.Cleanup(finish)
		for range 3 {
			waiters.Go(func() {
				out := make([]cq.WC, 5)
				for {
					n, err := c.Wait(done, out)
					if err != nil {
						if left.Load() != 0 {
							t.Errorf("%v with %d completions to come", err, left.Load())
						}
						return
					}
					for range n {
						<-credits
					}
					if left.Add(-int64(n)) == 0 {
						finish()
					}
				}
			})
		}
		for range 2 {
			posters.Go(func() {
				for range each / 2 {
					credits <- struct{}{}
					if err := q.PostSend(&qp.SendWR{Op: qp.OpWrite, Flags: qp.Signaled}); err != nil {
						t.Error(err)
						return
					}
					q.Ring()
				}
			})
		}
	}
	posters.Wait()
	waiters.Wait()
}

func TestWaitEndsWithItsContext(t *testing.T) {
	r := newRunning(t, Auto)
	ctx, cancel := context.WithCancel(context.Background())
	var waiters sync.WaitGroup
	for range 3 { // one leads and parks, the others follow
		waiters.Go(func() {
			_, err := r.a.cq.Wait(ctx, make([]cq.WC, 1))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for r.a.shard.waiters.Load() < 3 || !r.a.shard.sleeping.isSet() {
		time.Sleep(time.Microsecond)
	}
	cancel()
	waiters.Wait()

	post(t, r.qa, qp.SendWR{Op: qp.OpWrite})
	for r.a.cq.ring.Len() == 0 {
		r.a.shard.Poll()
	}
	n, err := r.a.cq.Wait(ctx, make([]cq.WC, 1))
	require.NoError(t, err, "what is there comes before the context")
	require.Equal(t, 1, n)
}

func TestCloseEndsWaiting(t *testing.T) {
	for name, end := range map[string]func(s *side){
		"CQ":    func(s *side) { s.cq.Close(); s.cq.Close() },
		"shard": func(s *side) { require.NoError(t, s.shard.Close()) },
	} {
		cfg := &side{t: t, link: loopback(t)}
		cfg.shard = New(Config{Link: cfg.link, Mode: Auto, Rand: func() uint64 { return 4 }})
		cfg.cq = cfg.shard.NewCQ(4, nil)
		var waiters sync.WaitGroup
		for range 3 {
			waiters.Go(func() {
				if _, err := cfg.cq.Wait(context.Background(), make([]cq.WC, 1)); !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s: got %v", name, err)
				}
			})
		}
		for cfg.shard.waiters.Load() < 3 {
			time.Sleep(time.Microsecond)
		}
		end(cfg)
		waiters.Wait()
		if name == "CQ" {
			require.NoError(t, cfg.shard.Close())
		}
	}
}

// Polling without ever blocking, with more posted than is transmitted inline.
func TestPollingAlone(t *testing.T) {
	r := newRunning(t, Auto)
	const total = 5000
	posted, done := 0, 0
	out := make([]cq.WC, 16)
	for done < total {
		for posted < total && posted-done < 64 {
			post(t, r.qa, qp.SendWR{Op: qp.OpWrite})
			posted++
		}
		done += r.a.cq.Poll(out)
	}
	r.noRetransmission(t)
}

// A leader that posts never has to be woken, but a parked one does.
func TestPostWakesALeaderThatSleepsTooLong(t *testing.T) {
	r := newRunning(t, Auto)
	ctx := testContext(t)
	waited := make(chan error)
	go func() {
		_, err := r.a.wait(ctx, 64)
		waited <- err
	}()
	for !r.a.shard.sleeping.isSet() {
		time.Sleep(time.Microsecond)
	}
	for range 64 {
		post(t, r.qa, qp.SendWR{Op: qp.OpWrite})
	}
	require.NoError(t, <-waited)
	r.noRetransmission(t)
}
