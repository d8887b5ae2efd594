package simnet

import (
	"fmt"
	"math/rand/v2"
	"net"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// queue is a link's only queue; it implements [link.Queue]. The frames themselves
// are the slots.
type queue struct {
	link *Link

	// Under the owner's lock.
	id     uint16 // IPv4 identification of the next packet
	dice   *rand.Rand
	staged []*frame // reserved, or flushed and not taken by the ring
	lent   []*frame

	// Under World.mu.
	inRing int // packets that wait for the transmitter
	out    transmitter
	inbox  fifo

	sleep
}

func (q *queue) init(l *Link, random *rand.PCG) {
	q.link, q.id, q.dice = l, uint16(random.Uint64()), rand.New(random)
	q.sleep.init(q)
}

// Now is the world's time.
func (q *queue) Now() clock.Time { return q.link.world.Now() }

// Room is what the stage can still hold.
func (q *queue) Room() int { return q.link.limit - len(q.staged) }

// Reserve begins a packet: see [link.Queue].
func (q *queue) Reserve(p *wire.Path, hdr int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) {
	if q.Room() <= 0 {
		panic(fmt.Sprintf("simnet: Reserve on link %q without Room", q.link.name))
	}
	f := q.reserve(p)
	end := hdr
	for _, b := range pay {
		end += len(b)
	}
	f.n = end + pad + wire.ICRCLen
	s.Head, s.Tail = f.buf[:hdr:hdr], f.buf[end:f.n:f.n]
	s.NBody = copy(s.Body[:], pay)
	f.gatherAt = hdr
	f.pieces = copy(f.gather[:], pay)
	if mustCopy {
		f.complete()
		s.Body[0], s.NBody = f.buf[hdr:end:end], 1
	}
	s.ID = f.meta.ID
}

// reserve stages a frame that goes to p.
func (q *queue) reserve(p *wire.Path) *frame {
	w := q.link.world
	w.mu.Lock()
	f := w.frame()
	w.mu.Unlock()
	f.from = q.link
	f.meta = link.Meta{
		Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort,
		ECN:  p.TrafficClass & 3,
		VLAN: p.VLAN,
	}
	if p.Dst.Is4() {
		f.meta.ID, f.meta.IDKnown, f.meta.Flags = q.id, true, wire.DontFragment
		q.id++
	}
	q.staged = append(q.staged, f)
	return f
}

// Flush gives the ring what it takes.
func (q *queue) Flush() (pending int, err error) {
	for _, f := range q.staged {
		f.complete()
	}
	w := q.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.link.closed {
		return len(q.staged), fmt.Errorf("simnet: send on link %q: %w", q.link.name, net.ErrClosed)
	}
	taken := 0
	for ; taken < len(q.staged) && q.inRing < q.link.limit; taken++ {
		w.send(q.staged[taken])
	}
	q.staged = append(q.staged[:0], q.staged[taken:]...)
	w.happenDue()
	return len(q.staged), nil
}

// Recv lends received frames.
func (q *queue) Recv(rx []link.Rx) int {
	w := q.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.happenDue()
	n := 0
	for ; n < len(rx) && q.inbox.len() > 0; n++ {
		rx[n] = q.next()
	}
	return n
}

// Release takes the lent frames back.
func (q *queue) Release() {
	if len(q.lent) == 0 {
		return
	}
	w := q.link.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range q.lent {
		w.free(f)
	}
	q.lent = q.lent[:0]
}

// close frees what nobody will receive, and ends a Park.
func (q *queue) close() {
	for q.inbox.len() > 0 {
		q.link.world.free(q.inbox.pop())
	}
	q.sleep.close()
}

// fifo is a ring of frames that grows.
type fifo struct {
	ring  []*frame // length 0 or a power of two
	first int
	count int
}

func (r *fifo) len() int { return r.count }

func (r *fifo) push(f *frame) {
	if r.count == len(r.ring) {
		r.grow()
	}
	r.ring[(r.first+r.count)&(len(r.ring)-1)] = f
	r.count++
}

func (r *fifo) peek() *frame { return r.ring[r.first] }

func (r *fifo) pop() *frame {
	f := r.ring[r.first]
	r.ring[r.first] = nil
	r.first = (r.first + 1) & (len(r.ring) - 1)
	r.count--
	return f
}

func (r *fifo) grow() {
	bigger := make([]*frame, max(64, 2*len(r.ring)))
	n := copy(bigger, r.ring[r.first:])
	copy(bigger[n:], r.ring[:r.first])
	r.ring, r.first = bigger, 0
}
