package raw

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/internal/outbox"
)

// fullFlushes is how many flushes in a row, some milliseconds, wait for room in the
// device's queue. The kernel does not say when there is some: it may be soon, or never
// if the queue takes no packet of that size.
const fullFlushes = 1000

// Flush sends what was reserved, oldest first. See [nic.Port]. An interface that is
// down loses packets, as a cable that is pulled does; one that is gone is an error.
func (p *port) Flush() (pending int, err error) {
	if p.box.Len() == 0 {
		return 0, nil
	}
	done, err := p.sendAll()
	p.box.KeepFrom(done)
	return p.box.Len(), err
}

// sendAll sends until all is sent or the kernel takes no more, and returns the number
// of packets done with.
func (p *port) sendAll() (done int, err error) {
	retried := false // the message at done was refused once
	for done < p.box.Len() {
		msgs := p.burst.build(&p.box, done, p.superFrames.Load(), p.gsoType)
		n, errno := mmsg.Send(p.fd, msgs)
		p.burst.forget()
		switch errno {
		case 0:
			p.note(n)
			done += p.burst.sent(n)
			retried, p.full = false, 0
		case unix.EINTR:
		case unix.EAGAIN: // the send buffer, for whose room epoll waits
			p.count.wouldBlock.Add(1)
			return done, nil
		case unix.ENOBUFS, unix.ENOMEM:
			p.count.wouldBlock.Add(1)
			if p.full++; p.full < fullFlushes {
				return done, nil
			}
			done += p.lose(&p.count.full)
		case unix.EMSGSIZE:
			done += p.lose(&p.count.tooBig)
			retried = false
		case unix.ENXIO, unix.ENODEV:
			return p.refuseAll(done), fmt.Errorf("send on %s: the interface was deleted, or moved to another network namespace: %w; close this link and open another", p.ifname, errno)
		default:
			if errno == unix.EINVAL && p.burst.packets[0] > 1 {
				p.refuseSuperFrame(p.burst.packets[0])
				continue
			}
			// The socket reports once, to whichever call comes next, that the
			// interface went down, also when it is up again.
			if retried {
				done = p.refuse(done, errno)
			}
			retried = !retried
		}
	}
	return done, nil
}

// note counts the super-frames among the first n messages, which were sent.
func (p *port) note(n int) {
	for _, packets := range p.burst.packets[:n] {
		if packets > 1 {
			p.count.superSent.Add(1)
		}
	}
}

// refuseSuperFrame answers the kernel's refusal of a super-frame of so many packets: it
// may have been too many.
func (p *port) refuseSuperFrame(packets int) {
	if packets > outbox.OldSegments {
		p.burst.most = outbox.OldSegments
		p.box.SetSegments(outbox.OldSegments)
		return
	}
	p.giveUpSuperFrames()
}

// giveUpSuperFrames goes on with single frames, after the kernel refused a
// super-frame.
func (p *port) giveUpSuperFrames() {
	p.superFrames.Store(false)
	p.box.SetBurst(0)
}

// refuse drops what the kernel does not take, and returns what comes after it: one
// message, or all where the interface is down.
func (p *port) refuse(done int, errno syscall.Errno) int {
	if errno == unix.ENETDOWN {
		return p.refuseAll(done)
	}
	return done + p.lose(&p.count.refused)
}

// lose counts the packets of the first message of the last call, which are not sent,
// and returns their number.
func (p *port) lose(why *atomic.Uint64) (packets int) {
	packets = p.burst.packets[0]
	why.Add(uint64(packets))
	return packets
}

// refuseAll drops all packets from index done on.
func (p *port) refuseAll(done int) int {
	p.count.down.Add(uint64(p.box.Len() - done))
	return p.box.Len()
}
