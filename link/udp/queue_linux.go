package udp

import (
	"net/netip"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// queue is the send and receive side of the link's socket. See [link.Queue] for who
// may call what; close, stats and buffers may be called by anyone.
type queue struct {
	addr     netip.Addr
	fds      *descriptors
	tx       transmitter
	burst    burst
	rx       receiver
	park     parker
	count    counters
	refusals refusals
}

// counters are written under the shard's lock and read by anyone.
type counters struct {
	sent, received              atomic.Uint64
	wouldBlock, tooBig, refused atomic.Uint64
	truncated, sockErrors       atomic.Uint64
}

// newQueue takes the socket over, also when it fails.
func newQueue(sock int, addr netip.Addr) (*queue, error) {
	fds, err := openDescriptors(sock)
	if err != nil {
		return nil, err
	}
	q := &queue{addr: addr, fds: fds, tx: newTransmitter()}
	q.burst.init(addr.Is6())
	q.rx.init(addr)
	q.park.init(fds)
	return q, nil
}

// Now is the process's monotonic clock.
func (q *queue) Now() clock.Time { return clock.Now() }

// Room counts packets of maximal size. See [link.Queue].
func (q *queue) Room() int { return q.tx.room() }

// Reserve begins a packet to a path that [Link.Resolve] prepared. See [link.Queue].
func (q *queue) Reserve(p *wire.Path, hdr int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) {
	q.tx.reserve(p, hdr, pay, pad, mustCopy, s)
}

func (q *queue) close() error { return q.fds.close() }

func (q *queue) stats() Stats {
	return Stats{
		Sent:       q.count.sent.Load(),
		Received:   q.count.received.Load(),
		WouldBlock: q.count.wouldBlock.Load(),
		TooBig:     q.count.tooBig.Load(),
		Refused:    q.count.refused.Load(),
		Truncated:  q.count.truncated.Load(),
		Overrun:    q.overrun(),
		SockErrors: q.count.sockErrors.Load(),
	}
}

// overrun asks the socket how many datagrams it dropped; 0 once it is closed.
func (q *queue) overrun() uint64 {
	if !q.fds.enter() {
		return 0
	}
	defer q.fds.leave()
	var info [unix.SK_MEMINFO_VARS]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(q.fds.sock), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0
	}
	return uint64(info[unix.SK_MEMINFO_DROPS])
}

func (q *queue) buffers() (receive, send int) {
	if !q.fds.enter() {
		return 0, 0
	}
	defer q.fds.leave()
	return bufferSize(q.fds.sock, unix.SO_RCVBUF), bufferSize(q.fds.sock, unix.SO_SNDBUF)
}
