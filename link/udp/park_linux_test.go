package udp

import (
	"sync"
	"testing"
	"time"

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

// Two goroutines wake each other's queue: each Wake is one Park's return, also when
// it comes before the Park.
func TestWakePingPong(t *testing.T) {
	const trips = 20_000
	a, b := pair(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range trips {
			b.queue.Arm(clock.Never, link.Interest{Rx: true})
			b.queue.Park()
			b.queue.Disarm()
			a.queue.Wake()
		}
	})
	for range trips {
		b.queue.Wake()
		a.queue.Arm(clock.Never, link.Interest{Rx: true})
		a.queue.Park()
		a.queue.Disarm()
	}
	wg.Wait()
}

func TestParkDeadline(t *testing.T) {
	l := open(t, nextLoopback())
	q := l.queue
	for _, d := range []time.Duration{-time.Second, 0, 1, time.Microsecond, 50 * time.Microsecond, 3 * time.Millisecond} {
		until := q.Now().Add(d)
		q.Arm(until, link.Interest{Rx: true})
		q.Park()
		q.Disarm()
		require.GreaterOrEqual(t, q.Now(), until)
	}
}

// A deadline that passed once wakes once more when it is armed again, and none that
// was disarmed wakes.
func TestParkRearm(t *testing.T) {
	q := open(t, nextLoopback()).queue
	past := q.Now()
	for range 3 {
		q.Arm(past, link.Interest{})
		q.Park()
	}
	q.Arm(past, link.Interest{})
	q.Disarm()
	later := q.Now().Add(5 * time.Millisecond)
	q.Arm(later, link.Interest{})
	q.Park()
	q.Disarm()
	require.GreaterOrEqual(t, q.Now(), later)
}

// Another goroutine moves the deadline of a Park in progress forward.
func TestArmWhileParked(t *testing.T) {
	const times = 500
	q := open(t, nextLoopback()).queue
	for range times {
		var lock sync.Mutex
		lock.Lock()
		q.Arm(q.Now().Add(time.Hour), link.Interest{Rx: true})
		lock.Unlock()
		var wg sync.WaitGroup
		wg.Go(func() {
			lock.Lock()
			q.Arm(q.Now().Add(20*time.Microsecond), link.Interest{Rx: true})
			lock.Unlock()
		})
		q.Park()
		wg.Wait()
		lock.Lock()
		q.Disarm()
		lock.Unlock()
	}
}

// A socket that is writable ends a Park that waits for room.
func TestParkForRoom(t *testing.T) {
	q := open(t, nextLoopback()).queue
	q.Arm(clock.Never, link.Interest{Tx: true})
	q.Park()
	q.Disarm()
}

// Packets do not end a Park that has no interest in them.
func TestParkWithoutInterest(t *testing.T) {
	a, b := pair(t)
	put(a.queue, path(t, a, b), 12, 1, nil, 0, true)
	flush(t, a.queue)
	until := b.queue.Now().Add(5 * time.Millisecond)
	b.queue.Arm(until, link.Interest{})
	b.queue.Park()
	b.queue.Disarm()
	require.GreaterOrEqual(t, b.queue.Now(), until)
	await(b.queue, 1)
}

// Close ends a Park; Wake may come at any time, also after Close.
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
		require.NoError(t, l.Close())
		q.Wake()
		wg.Wait()
		q.Park()
	}
}

// An idle queue leaves nothing armed in its epoll: packets that arrive while it is
// not parked wake nobody.
func TestUnparkedSocketIsSilent(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	for _, arm := range []bool{false, true} {
		if arm {
			b.queue.Arm(b.queue.Now().Add(time.Hour), link.Interest{Rx: true})
			b.queue.Disarm()
		}
		put(a.queue, p, 12, 1, nil, 0, true)
		flush(t, a.queue)
		n, errno := epollPoll(b.queue.fds.epoll, b.queue.park.events[:])
		require.Zero(t, errno)
		require.Zero(t, n)
		await(b.queue, 1)
	}
}
