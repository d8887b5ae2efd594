package udp

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

// A blocking ping-pong stalls for ever at the first lost wake-up.
func TestNoLostWakeups(t *testing.T) {
	trips := 100_000
	if testenv.Race {
		trips = 10_000
	}
	a, b := pair(t)
	ab, ba := path(t, a, b), path(t, b, a)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range trips {
			awaitOne(b.queue)
			put(b.queue, ba, 12, 1, nil, 0, true)
			b.queue.Flush()
		}
	})
	for range trips {
		put(a.queue, ab, 12, 1, nil, 0, true)
		a.queue.Flush()
		awaitOne(a.queue)
	}
	wg.Wait()
	require.Equal(t, uint64(trips), a.Stats().Received)
	t.Logf("%d blocking round trips", trips)
}

// awaitOne receives one frame by the protocol of [link.Queue.Arm]: arm, look once
// more, park.
func awaitOne(q *queue) {
	var rx [1]link.Rx
	for q.Recv(rx[:]) == 0 {
		q.Arm(clock.Never, link.Interest{Rx: true})
		if q.Recv(rx[:]) > 0 {
			q.Disarm()
			break
		}
		q.Park()
		q.Disarm()
	}
	q.Release()
}

// Close ends a Park, and frees the port only when nothing uses the socket any more:
// all may come at any time, also after Close.
func TestCloseWhileParked(t *testing.T) {
	addr := nextLoopback()
	for range 200 {
		l, err := Open(addr)
		require.NoError(t, err)
		q := l.queue
		var wg sync.WaitGroup
		q.Arm(clock.Never, link.Interest{Rx: true})
		wg.Go(func() {
			q.Park()
			q.Disarm()
		})
		wg.Go(q.Wake)
		wg.Go(func() { l.Stats() })
		require.NoError(t, l.Close())
		q.Wake()
		wg.Wait()
		q.Park()
	}
}
