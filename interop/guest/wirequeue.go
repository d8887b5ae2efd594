//go:build linux

package guest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	txFrames   = 64 // reserved and not yet taken by QEMU, at most
	maxTxFrame = wire.MaxHeadersLen + link.MaxHeader + link.MaxPayload + link.MaxTail
)

// wireQueue is the queue of a wireLink. It copies every payload.
type wireQueue struct {
	l     *wireLink
	addrs []netip.Addr // as they were at the opening
	wireParker

	tx    [txFrames]txFrame // a ring
	first int               // the oldest one
	n     int
	met   bool     // whether the oldest has met the faults
	out   [][]byte // what then goes on …
	taken int      // … and how many of that QEMU has taken
	id    uint16   // IPv4 identification of the last packet

	send    *socketDup
	sendErr error
	frame   []byte // that attempt sends
	attempt func(fd uintptr) bool

	lent [][]byte
}

// txFrame is a reserved frame.
type txFrame struct {
	buf [maxTxFrame]byte
	len int
}

func newWireQueue(l *wireLink) (*wireQueue, error) {
	q := &wireQueue{l: l, addrs: l.Addrs()}
	var err error
	if q.send, err = dupSocket(l.w.conn); err != nil {
		return nil, err
	}
	if err := q.wireParker.init(l.w); err != nil {
		q.send.close()
		return nil, err
	}
	q.attempt = func(fd uintptr) bool { // bound once: binding allocates
		_, q.sendErr = syscall.Write(int(fd), q.frame)
		return true
	}
	return q, nil
}

// Now is the process's monotonic clock.
func (q *wireQueue) Now() clock.Time { return clock.Now() }

// Room is the number of free frames.
func (q *wireQueue) Room() int { return txFrames - q.n }

// Reserve writes the headers and copies the payload.
func (q *wireQueue) Reserve(p *wire.Path, hdr int, pay [][]byte, pad int, _ bool, s *link.Slot) {
	f := &q.tx[(q.first+q.n)%txFrames]
	q.n++
	q.id++
	if q.id == 0 { // as rxe: never zero
		q.id = 1
	}
	size := hdr + pad + wire.ICRCLen
	for _, b := range pay {
		size += len(b)
	}
	h := p.Headers(q.id)
	head := len(h.AppendFrame(f.buf[:0], size))
	body := head + hdr
	tail := body
	for _, b := range pay {
		tail += copy(f.buf[tail:], b)
	}
	f.len = head + size
	s.Head = f.buf[head:body]
	s.Body[0], s.NBody = f.buf[body:tail], 0
	if tail > body {
		s.NBody = 1
	}
	s.Tail = f.buf[tail:f.len]
	s.ID = 0
	if p.Dst.Is4() {
		s.ID = q.id
	}
}

// Flush hands frames to QEMU until it takes no more.
func (q *wireQueue) Flush() (pending int, err error) {
	for q.n > 0 {
		if f := &q.tx[q.first]; !q.met {
			q.out, q.met, q.taken = q.l.w.passToGuest(q.out[:0], f.buf[:f.len]), true, 0
		}
		for q.taken < len(q.out) {
			switch err := q.sendFrame(q.out[q.taken]); {
			case err == nil:
				q.taken++
			case errors.Is(err, syscall.EAGAIN):
				return q.n, nil
			default:
				return q.n, fmt.Errorf("guest: send to the guest: %w", err)
			}
		}
		q.first, q.met = (q.first+1)%txFrames, false
		q.n--
	}
	return 0, nil
}

func (q *wireQueue) sendFrame(b []byte) error {
	q.frame = b
	for {
		if err := q.send.raw.Write(q.attempt); err != nil {
			return err
		}
		if !errors.Is(q.sendErr, syscall.EINTR) {
			return q.sendErr
		}
	}
}

// Recv takes RoCEv2 packets for the link's addresses out of the inbox and drops
// what else is there.
func (q *wireQueue) Recv(rx []link.Rx) int {
	n := 0
	for n < len(rx) {
		select {
		case b := <-q.l.w.inbox:
			f, err := wire.ParseFrame(b)
			if err != nil || f.DstPort != wire.Port || !slices.Contains(q.addrs, f.Dst) {
				q.l.w.recycle(b)
				continue
			}
			q.lent = append(q.lent, b)
			rx[n] = link.Rx{Frag: [2][]byte{f.Payload}, Meta: link.Meta{
				Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, ECN: f.TrafficClass & 3, VLAN: f.VLAN,
				ID: f.ID, IDKnown: true, Flags: f.Flags,
			}}
			n++
		default:
			return n
		}
	}
	return n
}

// Release gives the buffers back to the wire.
func (q *wireQueue) Release() {
	for i, b := range q.lent {
		q.l.w.recycle(b)
		q.lent[i] = nil
	}
	q.lent = q.lent[:0]
}

func (q *wireQueue) close() {
	q.wireParker.close()
	q.send.close()
}
