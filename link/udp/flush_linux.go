package udp

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
)

// Flush sends what was reserved, oldest first. See [link.Queue].
//
// A packet that the kernel refuses is dropped and counted, since the error may
// concern one destination only, or be an ICMP error that anyone can send: it is no
// failure of the link. See [Link.LastRefusal].
func (q *queue) Flush() (pending int, err error) {
	if q.box.Len() == 0 {
		return 0, nil
	}
	if !q.spot.Enter() {
		q.box.KeepFrom(q.box.Len())
		return 0, fmt.Errorf("udp: send from %v: %w", q.addr, net.ErrClosed)
	}
	defer q.spot.Leave()
	q.box.KeepFrom(q.sendAll())
	return q.box.Len(), nil
}

// sendAll sends until all is sent or the kernel takes no more, and returns the
// number of packets done with.
func (q *queue) sendAll() (done int) {
	retried := false // the super-frame at done was refused once
	for done < q.box.Len() {
		n, errno := mmsg.Send(q.sock, q.burst.build(&q.box, done))
		q.burst.drop()
		switch errno {
		case 0:
			done += q.sent(n)
			retried = false
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
			q.count.wouldBlock.Add(1)
			return done
		case unix.EMSGSIZE, unix.EINVAL, unix.EIO:
			done = q.divide(done, errno)
			retried = false
		default:
			// The error may be an ICMP error about an earlier packet, which the
			// kernel reports once and to whichever call comes next.
			q.count.sockErrors.Add(1)
			if retried {
				done = q.refuse(done, errno)
			}
			retried = !retried
		}
	}
	return done
}

// sent counts n messages of the last call and returns the number of packets.
func (q *queue) sent(n int) (packets int) {
	for _, p := range q.burst.packets[:n] {
		packets += p
		if p > 1 {
			q.count.superSent.Add(1)
		}
	}
	q.count.sent.Add(uint64(packets))
	return packets
}

// refuse counts and remembers a super-frame that the kernel does not take, and
// returns the number of packets done with.
func (q *queue) refuse(first int, errno syscall.Errno) (done int) {
	packets, _ := q.box.Burst(first)
	count := &q.count.refused
	if errno == unix.EMSGSIZE {
		count = &q.count.tooBig
	}
	count.Add(uint64(packets))
	pk := q.box.At(first)
	q.refusals.note(q.addr, pk.To.addr, pk.Size, errno)
	return first + packets
}
