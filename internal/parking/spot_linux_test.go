package parking

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

func TestDeadline(t *testing.T) {
	s := spotAt(t, newLine(t))
	for _, d := range []time.Duration{-time.Second, 0, 1, time.Microsecond, 50 * time.Microsecond, 3 * time.Millisecond} {
		until := clock.Now().Add(d)
		s.Arm(until, link.Interest{Rx: true})
		s.Park()
		s.Disarm()
		require.GreaterOrEqual(t, clock.Now(), until)
	}
}

// A deadline that passed once wakes once more when it is armed again, and none that
// was disarmed wakes.
func TestRearm(t *testing.T) {
	s := spotAt(t, newLine(t))
	past := clock.Now()
	for range 3 {
		s.Arm(past, link.Interest{})
		s.Park()
	}
	s.Arm(past, link.Interest{})
	s.Disarm()
	later := clock.Now().Add(5 * time.Millisecond)
	s.Arm(later, link.Interest{})
	s.Park()
	s.Disarm()
	require.GreaterOrEqual(t, clock.Now(), later)
}

// A socket that is writable ends a Park that waits for room in it, and none that
// waits for another.
func TestRoom(t *testing.T) {
	lines := newLines(t, 2)
	s := spotAt(t, lines...)
	s.Arm(clock.Never, link.Interest{Tx: true})
	s.Park()
	s.Disarm()

	full, has := link.Interest{Rx: true, Tx: true}, link.Interest{Rx: true}
	for err := error(nil); err == nil; {
		_, err = unix.Write(lines[0].out, make([]byte, 1000))
	}
	until := clock.Now().Add(5 * time.Millisecond)
	s.Arm(until, full, has)
	s.Park()
	s.Disarm()
	require.GreaterOrEqual(t, clock.Now(), until, "the first is full, the second must not count")

	s.Arm(clock.Never, full, has)
	_, err := unix.Read(lines[0].in, make([]byte, 1000))
	for err == nil {
		_, err = unix.Read(lines[0].in, make([]byte, 1000))
	}
	s.Park()
	s.Disarm()
}

// Datagrams do not end a Park that has no interest in them.
func TestNoInterest(t *testing.T) {
	lines := newLines(t, 2)
	s := spotAt(t, lines...)
	lines[0].put()
	lines[1].put()
	until := clock.Now().Add(5 * time.Millisecond)
	s.Arm(until, link.Interest{})
	s.Park()
	s.Disarm()
	require.GreaterOrEqual(t, clock.Now(), until)
}

// Sockets that are not parked leave nothing armed: datagrams that arrive meanwhile
// wake nobody, whichever of the sockets had ended the Park.
func TestUnparkedSocketsAreSilent(t *testing.T) {
	lines := newLines(t, maxReady+3)
	s := spotAt(t, lines...)
	putAll := func() {
		for _, l := range lines {
			l.put()
		}
	}
	takeAll := func() {
		for takeAny(lines) {
		}
	}
	putAll()
	require.True(t, s.silent(t), "never armed")
	takeAll()

	s.Arm(clock.Now().Add(time.Hour), link.Interest{Rx: true})
	s.Disarm()
	putAll()
	require.True(t, s.silent(t), "disarmed")
	takeAll()

	s.Arm(clock.Never, link.Interest{Rx: true})
	lines[1].put()
	s.Park()
	s.Disarm()
	putAll()
	require.True(t, s.silent(t), "one fired, the others were disarmed")
	takeAll()

	s.Arm(clock.Never, link.Interest{Rx: true})
	putAll() // more than one Park collects
	s.Park()
	s.Disarm()
	require.True(t, s.silent(t), "all fired")
}

// What Enter guards keeps its number until Leave, while Close waits.
func TestEnterHoldsCloseUp(t *testing.T) {
	l := newLine(t)
	s, err := New()
	require.NoError(t, err)
	require.NoError(t, s.Watch(l.out))
	require.True(t, s.Enter())
	var left atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		require.NoError(t, s.Close())
		require.True(t, left.Load())
	})
	for s.inUse.TryRLock() { // until Close waits
		s.inUse.RUnlock()
	}
	left.Store(true)
	s.Leave()
	wg.Wait()
	require.False(t, s.Enter())
}

func TestWatchRefuses(t *testing.T) {
	s := spotAt(t)
	for _, fd := range []int{-1, s.epoll} {
		err := s.Watch(fd)
		require.Error(t, err)
		t.Log(err)
	}
	l := newLine(t)
	require.NoError(t, s.Watch(l.out))
	require.ErrorIs(t, s.Watch(l.out), unix.EEXIST)
	l.put()
	s.Arm(clock.Never, link.Interest{Rx: true})
	s.Park()
	s.Disarm()
}

func TestNoAllocations(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector adds allocations")
	}
	lines := newLines(t, 3)
	s := spotAt(t, lines...)
	wire, local := link.Interest{Rx: true, Tx: false}, link.Interest{Rx: true}
	require.Zero(t, testing.AllocsPerRun(200, func() {
		lines[2].put()
		s.Arm(clock.Now().Add(time.Second), wire, local)
		s.Park()
		s.Disarm()
		lines[2].take()
		s.Wake()
		s.Park()
	}))
}
