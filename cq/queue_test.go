package cq_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

func push(q *cq.Queue, ids ...uint64) (ok bool) {
	for _, id := range ids {
		ok = q.Push(&cq.WC{ID: id}, false)
	}
	return ok
}

func poll(q *cq.Queue, n int) (ids []uint64) {
	out := make([]cq.WC, n)
	for _, wc := range out[:q.Poll(out)] {
		ids = append(ids, wc.ID)
	}
	return ids
}

func event(q *cq.Queue) bool {
	select {
	case <-q.Notify():
		return true
	default:
		return false
	}
}

func TestPushedIsInvisibleUntilPublished(t *testing.T) {
	q := cq.NewQueue(4)
	require.True(t, push(q, 1, 2))
	require.Empty(t, poll(q, 4))
	require.True(t, q.Publish())
	require.False(t, q.Publish(), "nothing new")
	require.Equal(t, 2, q.Len())
	require.Equal(t, []uint64{1, 2}, poll(q, 4))
	require.Empty(t, poll(q, 4))
}

// C10: polling exactly the capacity, across the wrap, gives no entry twice.
func TestPollAtCapacityAcrossTheWrap(t *testing.T) {
	for _, depth := range []int{1, 2, 3, 8} {
		q := cq.NewQueue(depth)
		var next, want uint64
		for range 5 * depth {
			for range depth {
				require.True(t, push(q, next))
				next++
			}
			q.Publish()
			for _, id := range poll(q, depth+1) {
				require.Equal(t, want, id)
				want++
			}
			require.Equal(t, next, want, "depth %d: not every entry was polled", depth)
		}
	}
}

func TestOverflowIsForGood(t *testing.T) {
	q := cq.NewQueue(2)
	require.True(t, push(q, 1, 2))
	q.Publish()
	require.False(t, q.Overflown())
	require.False(t, push(q, 3))
	require.True(t, q.Overflown())
	require.True(t, q.Publish(), "consumers must hear of it")
	require.Equal(t, []uint64{1, 2}, poll(q, 4), "what was there is still there")
	require.False(t, push(q, 4), "entry 3 is lost: nothing may follow it")
}

// Staged entries count against the capacity too.
func TestOverflowByStagedEntries(t *testing.T) {
	q := cq.NewQueue(2)
	require.False(t, push(q, 1, 2, 3))
}

// C11: a completion between the last poll and arming; two before one event is read.
func TestArmedEventsAreNotLost(t *testing.T) {
	q := cq.NewQueue(8)
	push(q, 1)
	q.Publish()
	require.False(t, event(q), "nobody armed")

	q.Arm(false)
	require.True(t, event(q), "a completion that is already there")
	require.Equal(t, []uint64{1}, poll(q, 8))

	q.Arm(false)
	require.False(t, event(q), "nothing is there")
	push(q, 2)
	require.False(t, event(q), "not published")
	q.Publish()
	push(q, 3)
	q.Publish()
	require.True(t, event(q))
	require.False(t, event(q), "one event per arming")
	require.Equal(t, []uint64{2, 3}, poll(q, 8))
}

func TestSolicitedOnly(t *testing.T) {
	for name, c := range map[string]struct {
		wc        cq.WC
		solicited bool
		want      bool
	}{
		"ordinary":  {cq.WC{}, false, false},
		"solicited": {cq.WC{}, true, true},
		"error":     {cq.WC{Status: cq.StatusFlushed}, false, true},
	} {
		q := cq.NewQueue(8)
		q.Arm(true)
		q.Push(&c.wc, c.solicited)
		q.Push(&cq.WC{}, false)
		q.Publish()
		require.Equal(t, c.want, event(q), name)
	}
}

func TestOverflowRaisesEvenASolicitedEvent(t *testing.T) {
	q := cq.NewQueue(1)
	push(q, 1)
	q.Publish()
	poll(q, 1)
	q.Arm(true)
	push(q, 2, 3)
	q.Publish()
	require.True(t, event(q))
}

func TestCloseEndsWaiting(t *testing.T) {
	q := cq.NewQueue(2)
	push(q, 1)
	q.Publish()
	q.Arm(false)
	q.Close()
	q.Close()
	<-q.Notify() // the event
	_, open := <-q.Notify()
	require.False(t, open)
	require.False(t, push(q, 2))
	require.Equal(t, []uint64{1}, poll(q, 2))
	q.Arm(false)
}

// The queue against a slice, over random histories.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 6).Draw(t, "depth")
		q := cq.NewQueue(depth)
		var staged, visible []uint64
		var next uint64
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				if len(staged)+len(visible) == depth {
					t.Skip("full")
				}
				if !push(q, next) {
					t.Fatal("push refused")
				}
				staged = append(staged, next)
				next++
			},
			"publish": func(t *rapid.T) {
				if q.Publish() != (len(staged) > 0) {
					t.Fatal("news that is none, or none that is")
				}
				visible, staged = append(visible, staged...), nil
			},
			"poll": func(t *rapid.T) {
				got := poll(q, rapid.IntRange(0, 8).Draw(t, "n"))
				for i, id := range got {
					if id != visible[i] {
						t.Fatalf("got %v, want the first of %v", got, visible)
					}
				}
				visible = visible[len(got):]
			},
			"": func(t *rapid.T) {
				if q.Len() != len(visible) {
					t.Fatalf("Len %d, want %d", q.Len(), len(visible))
				}
			},
		})
	})
}

// C11 under the race detector: consumers sleep on the channel whenever there is
// nothing. A lost event would hang the test.
func TestNoLostWakeUp(t *testing.T) {
	const total = 50_000
	q := cq.NewQueue(64)
	var producers sync.WaitGroup
	room := make(chan struct{}, 64)
	for range 2 {
		producers.Go(func() {
			for range total / 2 {
				room <- struct{}{}
				if !push(q, 1) {
					t.Error("overflow")
					return
				}
				q.Publish()
			}
		})
	}
	out := make([]cq.WC, 7)
	for got := 0; got < total; {
		q.Arm(false)
		<-q.Notify()
		for {
			n := q.Poll(out)
			if n == 0 {
				break
			}
			for range n {
				<-room
			}
			got += n
		}
	}
	producers.Wait()
	require.Zero(t, q.Len())
}

func TestQueueAllocatesNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	q, wc, out := cq.NewQueue(4), cq.WC{ID: 1}, make([]cq.WC, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		q.Arm(false)
		q.Push(&wc, true)
		q.Publish()
		<-q.Notify()
		q.Poll(out)
	}))
}

func BenchmarkPushPublishPoll(b *testing.B) {
	q, wc, out := cq.NewQueue(4), cq.WC{ID: 1}, make([]cq.WC, 4)
	for b.Loop() {
		q.Push(&wc, false)
		q.Publish()
		q.Poll(out)
	}
}
