package udp

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Flush sends what was reserved, oldest first. See [link.Queue].
//
// A packet that the kernel refuses is dropped and counted, since the error may
// concern one destination only, or be an ICMP error that anyone can send: it is no
// failure of the link. See [Link.LastRefusal].
func (q *queue) Flush() (pending int, err error) {
	if q.tx.n == 0 {
		return 0, nil
	}
	if !q.fds.enter() {
		q.tx.keepFrom(q.tx.n)
		return 0, fmt.Errorf("udp: send from %v: %w", q.addr, net.ErrClosed)
	}
	defer q.fds.leave()
	q.tx.keepFrom(q.sendAll())
	return q.tx.n, nil
}

// sendAll sends until all is sent or the kernel takes no more, and returns the
// number of packets done with.
func (q *queue) sendAll() (done int) {
	retried := false // the packet at done was refused once
	for done < q.tx.n {
		msgs := q.burst.build(&q.tx, done)
		n, errno := sendmmsg(q.fds.sock, msgs)
		q.burst.drop(len(msgs))
		switch errno {
		case 0:
			q.count.sent.Add(uint64(n))
			done += n
			retried = false
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
			q.count.wouldBlock.Add(1)
			return done
		case unix.EMSGSIZE:
			q.refuse(&q.tx.packets[done], errno)
			done++
			retried = false
		default:
			// The error may be an ICMP error about an earlier packet, which the
			// kernel reports once and to whichever call comes next.
			q.count.sockErrors.Add(1)
			if retried {
				q.refuse(&q.tx.packets[done], errno)
				done++
			}
			retried = !retried
		}
	}
	return done
}

// refuse counts and remembers a packet that the kernel does not take.
func (q *queue) refuse(pk *txPacket, errno syscall.Errno) {
	if errno == unix.EMSGSIZE {
		q.count.tooBig.Add(1)
	} else {
		q.count.refused.Add(1)
	}
	q.refusals.note(q.addr, pk.to.addr, pk.size, errno)
}
