package udp

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
)

// parker puts a queue to sleep. The socket is in the queue's own epoll, and armed
// there only while the queue is parked; Go's poller sees nothing but that epoll. A
// socket left in Go's poller would wake an idle thread for every packet, at the
// cost of the goroutine that spins for it. The deadline is a timerfd because Go's
// timers are a millisecond late when the process is idle.
//
// No wake-up is lost: arming the socket looks whether it is ready already, a timer
// or event that fires stays ready in the epoll until Park collects it, and Park
// collects after it has told Go's poller that it will wait.
type parker struct {
	fds *descriptors

	// Under the shard's lock.
	until clock.Time // what the timer is set to

	// live says that the socket may be armed. Park clears it when the socket fired,
	// which disarms it. An Arm at that very moment can be forgotten: then the socket
	// stays armed until its next packet, and one later Park returns early.
	live atomic.Bool

	events  [3]unix.EpollEvent // Park's
	collect func(fd uintptr) bool
}

// Arm prepares to sleep. See [link.Queue].
func (q *queue) Arm(until clock.Time, i link.Interest) { q.park.arm(until, i) }

// Disarm ends the armed state. See [link.Queue].
func (q *queue) Disarm() { q.park.disarm() }

// Park sleeps as armed; one goroutine at a time. See [link.Queue].
func (q *queue) Park() { q.park.sleep() }

// Wake makes a current or the next Park return. See [link.Queue].
func (q *queue) Wake() { q.park.wake() }

func (p *parker) init(fds *descriptors) {
	p.fds = fds
	p.until = clock.Never
	p.collect = p.collectReady // bound once: binding allocates
}

func (p *parker) arm(until clock.Time, i link.Interest) {
	if !p.fds.enter() {
		return
	}
	defer p.fds.leave()
	p.setTimer(until)
	events := uint32(unix.EPOLLONESHOT)
	if i.Rx {
		events |= unix.EPOLLIN
	}
	if i.Tx {
		events |= unix.EPOLLOUT
	}
	p.live.Store(true)
	p.setSocket(events)
}

func (p *parker) disarm() {
	if !p.fds.enter() {
		return
	}
	defer p.fds.leave()
	p.setTimer(clock.Never)
	if p.live.Swap(false) {
		p.setSocket(unix.EPOLLONESHOT)
	}
}

func (p *parker) wake() {
	if !p.fds.enter() {
		return
	}
	defer p.fds.leave()
	eventAdd(p.fds.event)
}

// sleep returns when something was ready, or the descriptors are closed.
func (p *parker) sleep() { _ = p.fds.wait.Read(p.collect) }

// collectReady takes what is ready from the epoll; false sends Park to sleep.
func (p *parker) collectReady(epoll uintptr) bool {
	n, errno := epollPoll(int(epoll), p.events[:])
	if errno != 0 {
		return true // never by an open epoll; an early return does no harm
	}
	for _, e := range p.events[:n] {
		if int(e.Fd) == p.fds.sock {
			p.live.Store(false)
		}
	}
	return n > 0
}

// setTimer sets the deadline; a new setting forgets an earlier expiry. It cannot
// fail: the descriptor is open and the time valid.
func (p *parker) setTimer(until clock.Time) {
	if until == clock.Never && p.until == clock.Never {
		return
	}
	p.until = until
	var spec unix.ItimerSpec
	if until != clock.Never {
		// Zero would stop the timer.
		spec.Value = unix.NsecToTimespec(max(int64(until.Sub(clock.Now())), 1))
	}
	_ = unix.TimerfdSettime(p.fds.timer, 0, &spec, nil)
}

// setSocket sets what the epoll reports of the socket. It cannot fail: both are
// open and joined.
func (p *parker) setSocket(events uint32) {
	_ = unix.EpollCtl(p.fds.epoll, unix.EPOLL_CTL_MOD, p.fds.sock,
		&unix.EpollEvent{Events: events, Fd: int32(p.fds.sock)})
}
