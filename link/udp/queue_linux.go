package udp

import (
	"errors"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/parking"
	"github.com/rocinante-rdma/roce/link"
)

// queue is the send and receive side of the link's socket. See [link.Queue] for who
// may call what; close, stats and buffers may be called by anyone.
type queue struct {
	addr     netip.Addr
	filtered bool // by OwnHost's filter
	sock     int
	spot     *parking.Spot // and whoever uses sock is between its Enter and Leave
	closing  sync.Once
	supers   superSupport
	box      box
	burst    burst
	rx       receiver
	count    counters
	refusals refusals
}

// newQueue takes the socket over, also when it fails.
func newQueue(sock int, addr netip.Addr) (*queue, error) {
	spot, err := parking.New()
	if err != nil {
		return nil, errors.Join(err, unix.Close(sock))
	}
	if err := spot.Watch(sock); err != nil {
		return nil, errors.Join(err, spot.Close(), unix.Close(sock))
	}
	q := &queue{addr: addr, sock: sock, spot: spot, supers: enableSuperFrames(sock)}
	q.supers.initBox(&q.box, addr)
	q.burst.init(addr.Is6())
	q.rx.init(addr)
	return q, nil
}

// Now is the process's monotonic clock.
func (q *queue) Now() clock.Time { return clock.Now() }

// Arm prepares to sleep. See [link.Queue].
func (q *queue) Arm(until clock.Time, i link.Interest) { q.spot.Arm(until, i) }

// Disarm ends the armed state. See [link.Queue].
func (q *queue) Disarm() { q.spot.Disarm() }

// Park sleeps as armed; one goroutine at a time. See [link.Queue].
func (q *queue) Park() { q.spot.Park() }

// Wake makes a current or the next Park return. See [link.Queue].
func (q *queue) Wake() { q.spot.Wake() }

// close closes all, once.
func (q *queue) close() (err error) {
	q.closing.Do(func() { err = errors.Join(q.spot.Close(), unix.Close(q.sock)) })
	return err
}

func (q *queue) buffers() (receive, send int) {
	if !q.spot.Enter() {
		return 0, 0
	}
	defer q.spot.Leave()
	return bufferSize(q.sock, unix.SO_RCVBUF), bufferSize(q.sock, unix.SO_SNDBUF)
}
