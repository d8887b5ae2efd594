package parking

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
)

// Spot is where one queue parks. Arm, Disarm and Park mean what those of [link.Queue]
// do: the first two are called under the shard's lock, Park by one goroutine at a
// time without it. Any goroutine may call the rest, but Watch only before the first
// Arm.
//
// No wake-up is lost: arming a socket looks whether it is ready already, a timer or
// event that fires stays ready in the epoll until Park collects it, and Park collects
// after it has told Go's poller that it will wait.
type Spot struct {
	descriptors
	sockets []*socket
	until   clock.Time // what the timer is set to; under the shard's lock

	ready   [maxReady]unix.EpollEvent // Park's
	collect func(fd uintptr) bool     // collectReady, bound once: binding allocates
}

// maxReady is what a Park collects at most. What else is ready ends the next one.
const maxReady = 16

// socket is one that a Spot watches.
type socket struct {
	fd int

	// live says that the socket may be armed. Park clears it when the socket fired,
	// which disarms it. An Arm at that very moment can be forgotten: then the socket
	// stays armed until its next packet, and one later Park returns early.
	live atomic.Bool
}

// New returns a Spot that watches no socket yet.
func New() (*Spot, error) {
	s := &Spot{until: clock.Never}
	s.collect = s.collectReady
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// Watch adds a socket, or anything else that epoll can watch, which is asleep until
// Arm. It stays the caller's, who keeps it open until Close has returned. Other Spots
// may watch it too.
func (s *Spot) Watch(fd int) error {
	if err := s.add(fd, unix.EPOLLONESHOT, int32(len(s.sockets))); err != nil {
		return err
	}
	s.sockets = append(s.sockets, &socket{fd: fd})
	return nil
}

// Arm prepares to sleep. The interests are those in the sockets, in the order of
// Watch; the last one goes for all that follow, so a single one goes for all. Without
// Tx in those that have room, a socket that is writable anyway does not end the Park
// that waits for another.
func (s *Spot) Arm(until clock.Time, interests ...link.Interest) {
	if !s.Enter() {
		return
	}
	defer s.Leave()
	s.setTimer(until)
	for i, sock := range s.sockets {
		sock.live.Store(true)
		s.set(i, sock, eventsOf(interests[min(i, len(interests)-1)]))
	}
}

func eventsOf(i link.Interest) (events uint32) {
	if i.Rx {
		events |= unix.EPOLLIN
	}
	if i.Tx {
		events |= unix.EPOLLOUT
	}
	return events
}

// Disarm ends the armed state, also of the sockets that did not end the Park.
func (s *Spot) Disarm() {
	if !s.Enter() {
		return
	}
	defer s.Leave()
	s.setTimer(clock.Never)
	for i, sock := range s.sockets {
		if sock.live.Swap(false) {
			s.set(i, sock, 0)
		}
	}
}

// Park sleeps as armed. It returns when something was ready, after Wake, or when the
// Spot is closed.
func (s *Spot) Park() { _ = s.wait.Read(s.collect) }

// Wake makes a current or the next Park return.
func (s *Spot) Wake() {
	if !s.Enter() {
		return
	}
	defer s.Leave()
	eventAdd(s.event)
}

// collectReady takes what is ready from the epoll; false sends Park to sleep.
func (s *Spot) collectReady(epoll uintptr) bool {
	n, errno := epollPoll(int(epoll), s.ready[:])
	if errno != 0 {
		return true // never by an open epoll; an early return does no harm
	}
	for _, e := range s.ready[:n] {
		if e.Fd >= 0 {
			s.sockets[e.Fd].live.Store(false)
		}
	}
	return n > 0
}

// setTimer sets the deadline; a new setting forgets an earlier expiry. It cannot
// fail: the descriptor is open and the time valid.
func (s *Spot) setTimer(until clock.Time) {
	if until == clock.Never && s.until == clock.Never {
		return
	}
	s.until = until
	var spec unix.ItimerSpec
	if until != clock.Never {
		// Zero would stop the timer.
		spec.Value = unix.NsecToTimespec(max(int64(until.Sub(clock.Now())), 1))
	}
	_ = unix.TimerfdSettime(s.timer, 0, &spec, nil)
}

// set sets what the epoll reports of a socket. It cannot fail: both are open and
// joined.
func (s *Spot) set(i int, sock *socket, events uint32) {
	_ = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_MOD, sock.fd,
		&unix.EpollEvent{Events: unix.EPOLLONESHOT | events, Fd: int32(i)})
}
