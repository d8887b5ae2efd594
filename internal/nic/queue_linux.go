package nic

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/parking"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Queue joins the wire and the ways to peers on the same host into one [link.Queue].
type Queue struct {
	nic     *NIC
	port    Port
	own     []*sideway
	spot    *parking.Spot
	closing sync.Once

	wirePending int
	turn        int // whose turn it is in Recv: 0 is the wire's, then those of own
	calls       int // of Recv, since all of own were looked at
	interests   []link.Interest
}

var _ link.Queue = (*Queue)(nil)

// sideway is a queue's view of the way from one address to peers on the same host.
type sideway struct {
	*ownHost
	contacted bool // a peer came before any path was made
	pending   int
}

// active reports whether packets may come at any time.
func (s *sideway) active() bool { return s.contacted || s.paths.Load() > 0 }

// quietCalls is how many calls of Recv a way without paths is not looked at, unless
// the queue parks.
const quietCalls = 256

// NewQueue makes the queue of a port. It takes the port over, also when it fails.
func (n *NIC) NewQueue(port Port) (*Queue, error) {
	q := &Queue{nic: n, port: port}
	var err error
	if q.spot, err = parking.New(); err != nil {
		return nil, errors.Join(err, port.Close())
	}
	if err := q.watch(); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

func (q *Queue) watch() error {
	for _, fd := range q.port.Sockets() {
		if err := q.spot.Watch(fd); err != nil {
			return err
		}
	}
	for _, o := range q.nic.ownHost {
		if o.link == nil {
			continue
		}
		if err := q.spot.Watch(o.link.FD()); err != nil {
			return err
		}
		q.own = append(q.own, &sideway{ownHost: o})
	}
	q.interests = make([]link.Interest, len(q.port.Sockets())+len(q.own))
	return nil
}

// Now is the process's monotonic clock.
func (q *Queue) Now() clock.Time { return clock.Now() }

// Room is that of the fullest, since a packet may go either way.
func (q *Queue) Room() int {
	room := q.port.Room()
	for _, s := range q.own {
		room = min(room, s.queue.Room())
	}
	return room
}

// Reserve begins a packet to a path that [NIC.Resolve] prepared. See [link.Queue].
func (q *Queue) Reserve(p *wire.Path, hdr int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) {
	switch to := p.Link.(type) {
	case *Peer:
		q.port.Reserve(to.Template(), hdr, pay, pad, mustCopy, s)
	case *ownPath:
		to.way.queue.Reserve(&to.path, hdr, pay, pad, mustCopy, s)
	}
}

// Flush sends what was reserved. See [link.Queue]. The error says that the link was
// closed or its interface is gone.
func (q *Queue) Flush() (pending int, err error) {
	if !q.spot.Enter() {
		return 0, fmt.Errorf("send on %s: %w", q.nic.name, net.ErrClosed)
	}
	defer q.spot.Leave()
	q.wirePending, err = q.port.Flush()
	pending = q.wirePending
	for _, s := range q.own {
		var ownErr error
		s.pending, ownErr = s.queue.Flush()
		pending += s.pending
		err = errors.Join(err, ownErr)
	}
	if q.nic.State() == link.Gone {
		err = q.nic.gone()
	}
	return pending, err
}

// Recv receives from one side, in turn from each that has something. See [link.Queue].
func (q *Queue) Recv(rx []link.Rx) int {
	if !q.spot.Enter() {
		return 0
	}
	defer q.spot.Leave()
	all := q.calls == 0
	if q.calls++; q.calls == quietCalls {
		q.calls = 0
	}
	for range len(q.own) + 1 {
		at := q.turn
		if q.turn++; q.turn > len(q.own) {
			q.turn = 0
		}
		if n := q.recvFrom(at, all, rx); n > 0 {
			return n
		}
	}
	return 0
}

// recvFrom receives from the wire, or from the way with a number, if that is worth a
// look.
func (q *Queue) recvFrom(at int, all bool, rx []link.Rx) int {
	if at == 0 {
		return q.port.Recv(rx)
	}
	s := q.own[at-1]
	if !all && !s.active() {
		return 0
	}
	n := s.queue.Recv(rx)
	if n > 0 {
		s.contacted = true
	}
	return n
}

// Release gives all frames back. See [link.Queue].
func (q *Queue) Release() {
	if !q.spot.Enter() {
		return
	}
	defer q.spot.Leave()
	q.port.Release()
	for _, s := range q.own {
		s.queue.Release()
	}
}

// Arm prepares to sleep. See [link.Queue].
func (q *Queue) Arm(until clock.Time, i link.Interest) {
	// Who has room is writable: only those are asked that are full.
	sockets := len(q.interests) - len(q.own)
	for k := range q.interests {
		pending := q.wirePending
		if k >= sockets {
			pending = q.own[k-sockets].pending
		}
		q.interests[k] = link.Interest{Rx: i.Rx, Tx: i.Tx && pending > 0}
	}
	q.spot.Arm(until, q.interests...)
}

// Disarm ends the armed state. See [link.Queue].
func (q *Queue) Disarm() {
	q.spot.Disarm()
	q.calls = 0 // whoever it was that ended the sleep
}

// Park sleeps as armed; one goroutine at a time. See [link.Queue].
func (q *Queue) Park() { q.spot.Park() }

// Wake makes a current or the next Park return. See [link.Queue].
func (q *Queue) Wake() { q.spot.Wake() }

// Close ends a Park and closes the port, once.
func (q *Queue) Close() (err error) {
	q.closing.Do(func() { err = errors.Join(q.spot.Close(), q.port.Close()) })
	return err
}
