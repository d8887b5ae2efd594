package parking

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

// The tests here hang at the first lost wake-up.

// awaitOne receives one datagram by the protocol of [link.Queue]: arm, look once
// more, park.
func (s *Spot) awaitOne(lines []line) {
	for !takeAny(lines) {
		s.Arm(clock.Never, link.Interest{Rx: true})
		if takeAny(lines) {
			s.Disarm()
			return
		}
		s.Park()
		s.Disarm()
	}
}

func takeAny(lines []line) bool {
	for _, l := range lines {
		if l.take() {
			return true
		}
	}
	return false
}

func trips(n int) int {
	if testenv.Race {
		return n / 10
	}
	return n
}

// A ping-pong of two goroutines that park, over one socket or any of several.
func TestNoLostWakeups(t *testing.T) {
	for _, sockets := range []int{1, 3, maxReady + 4} {
		there, back := newLines(t, sockets), newLines(t, sockets)
		a, b := spotAt(t, back...), spotAt(t, there...)
		n := trips(200_000 / (sockets + 1))
		r := rand.New(rand.NewPCG(testenv.Seed(t), uint64(sockets)))
		ways := make([]int, n)
		for i := range ways {
			ways[i] = r.IntN(sockets)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, way := range ways {
				b.awaitOne(there)
				back[way].put()
			}
		})
		for _, way := range ways {
			there[way].put()
			a.awaitOne(back)
		}
		wg.Wait()
		t.Logf("%d blocking round trips over %d sockets", n, sockets)
	}
}

// A sender that does not wait for answers: datagrams arrive at every moment of the
// receiver's arming, parking and disarming.
func TestNoLostDatagrams(t *testing.T) {
	lines := newLines(t, 4)
	s := spotAt(t, lines...)
	n := trips(200_000)
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			way := lines[r.IntN(len(lines))]
			for {
				_, err := unix.Write(way.in, []byte{1})
				if err == nil {
					break
				}
				if err != unix.EAGAIN {
					panic(err)
				}
				poll := []unix.PollFd{{Fd: int32(way.in), Events: unix.POLLOUT}}
				_, _ = unix.Poll(poll, -1)
			}
		}
	})
	for range n {
		s.awaitOne(lines)
	}
	wg.Wait()
	require.False(t, takeAny(lines))
}

// Two Spots watch the same socket, as two threads would: whichever is parked wakes,
// also when the other one was just disarmed or is parked without interest.
func TestSharedSocket(t *testing.T) {
	l := newLines(t, 1)
	back := newLines(t, 1)
	a, b, answers := spotAt(t, l...), spotAt(t, l...), spotAt(t, back...)
	n := trips(50_000)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			active, idle := a, b
			if i%2 == 1 {
				active, idle = b, a
			}
			idle.Arm(clock.Never, link.Interest{})
			active.awaitOne(l)
			idle.Disarm()
			back[0].put()
		}
	})
	for range n {
		l[0].put()
		answers.awaitOne(back)
	}
	wg.Wait()
}

// Two goroutines wake each other: each Wake is one Park's return, also when it comes
// before the Park.
func TestWakePingPong(t *testing.T) {
	n := trips(50_000)
	l := newLine(t)
	a, b := spotAt(t, l), spotAt(t, l)
	park := func(s *Spot) {
		s.Arm(clock.Never, link.Interest{Rx: true})
		s.Park()
		s.Disarm()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			park(b)
			a.Wake()
		}
	})
	for range n {
		b.Wake()
		park(a)
	}
	wg.Wait()
}

// Another goroutine moves the deadline of a Park in progress forward.
func TestArmWhileParked(t *testing.T) {
	s := spotAt(t, newLines(t, 2)...)
	var lock sync.Mutex
	for range trips(2000) {
		lock.Lock()
		s.Arm(clock.Now().Add(time.Hour), link.Interest{Rx: true})
		lock.Unlock()
		var wg sync.WaitGroup
		wg.Go(func() {
			lock.Lock()
			s.Arm(clock.Now().Add(20*time.Microsecond), link.Interest{Rx: true})
			lock.Unlock()
		})
		s.Park()
		wg.Wait()
		lock.Lock()
		s.Disarm()
		lock.Unlock()
	}
}

// Close ends a Park; Wake, Arm and Disarm may come at any time, also after Close.
func TestCloseWhileParked(t *testing.T) {
	lines := newLines(t, 2)
	for range trips(2000) {
		s, err := New()
		require.NoError(t, err)
		for _, l := range lines {
			require.NoError(t, s.Watch(l.out))
		}
		s.Arm(clock.Never, link.Interest{Rx: true})
		var wg sync.WaitGroup
		wg.Go(func() {
			s.Park()
			s.Disarm()
			s.Arm(clock.Never, link.Interest{Rx: true})
		})
		wg.Go(s.Wake)
		require.NoError(t, s.Close())
		require.False(t, s.Enter())
		s.Wake()
		wg.Wait()
		s.Park()
		require.NoError(t, s.Close(), "closing again")
	}
}
