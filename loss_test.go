package roce_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
)

// R18: five minutes of all operations over a network that loses one frame in a hundred, then
// five with one in ten, both ways: nothing hangs, and memory is exact. Then nothing
// arrives any more, and within the time of retry_cnt + 1 timeouts all work completes, its first with
// retry exceeded, the rest flushed; so does what is posted later.
func TestLossUntilNothingArrives(t *testing.T) {
	const lasts = 5 * time.Minute
	seed, set := testenv.SeedFromEnv(t)
	if !set {
		seed = 1 // where one in ten is lost, one connection in some hundred may run out of retries
	}
	t.Logf("seed %d; TEST_SEED sets another", seed)
	for loss, perSecond := range map[float64]int{0.01: 60, 0.1: 10} { // operations of each side
		t.Run(fmt.Sprintf("%g %%", 100*loss), func(t *testing.T) {
			w := simnet.New(seed)
			w.Faults.Add(simnet.Randomly(simnet.Match{}, simnet.Random{Loss: loss}))
			a := newSoaker(t, w, seed, "a", "10.0.0.1", 0, nil)
			b := newSoaker(t, w, seed, "b", "10.0.0.2", 0, nil)
			meet(a, b)
			both := []*soaker{a, b}
			for w.Now() < clock.Time(lasts) {
				a.left, b.left = perSecond, perSecond
				second := w.Now().Add(time.Second)
				require.NoError(t, w.RunUntil(func() bool {
					a.act()
					b.act()
					return a.finished() && b.finished()
				}, second.Add(time.Minute)))
				require.NoError(t, w.Run(second))
			}
			for _, s := range both {
				require.True(t, bytes.Equal(s.model, s.peer.shared.Bytes()), "seed %d: memory of %s", seed, s.peer.name)
			}
			t.Logf("%d operations in %v", a.done+b.done, w.Now())

			w.Faults.Add(simnet.Drop(simnet.Match{}))
			cut := w.Now()
			for _, s := range both {
				for range soakDepth {
					_, err := s.qp.PostSend(roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled})
					require.NoError(t, err)
				}
			}
			attr := a.qp.Attr()
			retries := time.Duration(attr.RetryCount + 1)
			timeout := 4096 * time.Nanosecond << attr.Timeout
			require.NoError(t, w.Run(cut.Add(retries*timeout+timeout)))
			for _, s := range both {
				requireGone(t, s)
			}
		})
	}
}

// requireGone checks that all work of a soaker has completed because its peer is gone.
func requireGone(t *testing.T, s *soaker) {
	t.Helper()
	out := make([]roce.WC, soakDepth+soakRecvs)
	var sends []roce.Status
	for _, wc := range out[:s.cq.Poll(out)] {
		if !wc.Opcode.Recv() {
			sends = append(sends, wc.Status)
		}
	}
	require.Len(t, sends, soakDepth)
	require.Equal(t, roce.StatusRetryExceeded, sends[0])
	for _, status := range sends[1:] {
		require.Equal(t, roce.StatusFlushed, status)
	}
	require.Equal(t, roce.StateErr, s.qp.State())
	_, err := s.qp.PostSend(roce.SendWR{Op: roce.OpWrite})
	require.NoError(t, err)
	s.dev.Poll()
	require.Equal(t, 1, s.cq.Poll(out))
	require.ErrorIs(t, out[0].Err(), roce.ErrFlushed)
}
