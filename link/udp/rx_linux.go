package udp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	rxFrames  = 256
	frameSize = 4224 // maxPacket, rounded up to cache lines

	// recvTries bounds the calls of one Recv: socket errors and oversize datagrams
	// are skipped, but a flood of them must not hold the shard.
	recvTries = 4
)

// receiver holds the frames that Recv lends, in order, until Release.
type receiver struct {
	addr    netip.Addr
	memory  []byte
	msgs    [rxFrames]mmsghdr
	iovs    [rxFrames]unix.Iovec
	names   [rxFrames]unix.RawSockaddrInet6 // or, in the first bytes, RawSockaddrInet4
	control [rxFrames][controlSize]byte
	lent    int
	burst   int // datagrams asked for in the next call
}

func (r *receiver) init(addr netip.Addr) {
	r.addr = addr
	r.memory = make([]byte, rxFrames*frameSize)
	r.burst = 1
	for i := range r.msgs {
		r.iovs[i].Base = &r.memory[i*frameSize]
		r.iovs[i].SetLen(frameSize)
		m := &r.msgs[i].Msghdr
		m.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		m.Iov = &r.iovs[i]
		m.SetIovlen(1)
		m.Control = &r.control[i][0]
	}
}

// next prepares the messages of the next call.
func (r *receiver) next(limit int) []mmsghdr {
	msgs := r.msgs[r.lent:min(r.lent+min(limit, r.burst), rxFrames)]
	for i := range msgs {
		msgs[i].Namelen = unix.SizeofSockaddrInet6
		msgs[i].Flags = 0
		msgs[i].SetControllen(controlSize)
	}
	return msgs
}

// lend enters the datagrams of the last call into rx, without those too long to be
// packets, and returns how many and how many bytes. Empty ones are for the engine
// to count.
func (r *receiver) lend(n int, rx []link.Rx) (packets, bytes int) {
	for i := r.lent; i < r.lent+n; i++ {
		m := &r.msgs[i]
		bytes += int(m.n)
		if m.Flags&unix.MSG_TRUNC != 0 {
			continue
		}
		rx[packets] = link.Rx{
			Frag: [2][]byte{r.frame(i, int(m.n))},
			Meta: link.Meta{
				Dst:   r.addr,
				ECN:   ecnOf(r.control[i][:m.Controllen]),
				Flags: wire.DontFragment,
			},
		}
		rx[packets].Meta.Src, rx[packets].Meta.SrcPort = sender(&r.names[i])
		packets++
	}
	r.lent += n
	return packets, bytes
}

func (r *receiver) frame(i, n int) []byte {
	at := i * frameSize
	return r.memory[at : at+n : at+n]
}

// adapt chooses the size of the next call: one datagram while they come singly,
// since each more that is asked for in vain costs time; twice as many when all that
// were asked for came, as long as a call moves no more than maxCallBytes.
func (r *receiver) adapt(asked, got, bytes int) {
	switch {
	case got < asked:
		r.burst = max(got, 1)
	case bytes > maxCallBytes:
		r.burst = max(got/2, 1)
	case got == r.burst && 2*bytes <= maxCallBytes:
		r.burst = min(2*got, rxFrames/2)
	}
}

// Recv makes one receive call, or a few when the first brings only datagrams too
// long to be packets. See [link.Queue].
func (q *queue) Recv(rx []link.Rx) int {
	if !q.fds.enter() {
		return 0
	}
	defer q.fds.leave()
	for range recvTries {
		msgs := q.rx.next(len(rx))
		if len(msgs) == 0 {
			return 0
		}
		n, errno := recvmmsg(q.fds.sock, msgs)
		switch errno {
		case 0:
		case unix.EAGAIN:
			q.rx.burst = 1
			return 0
		case unix.EINTR:
			continue
		default: // an ICMP error, reported once
			q.count.sockErrors.Add(1)
			continue
		}
		packets, bytes := q.rx.lend(n, rx)
		q.rx.adapt(len(msgs), n, bytes)
		q.count.received.Add(uint64(packets))
		if n > packets {
			q.count.truncated.Add(uint64(n - packets))
		}
		if packets > 0 {
			return packets
		}
	}
	return 0
}

// Release takes all frames back. See [link.Queue].
func (q *queue) Release() { q.rx.lent = 0 }

// sender reads a socket address; IPv6 without zone, as a GID is.
func sender(name *unix.RawSockaddrInet6) (netip.Addr, uint16) {
	if name.Family == unix.AF_INET6 {
		return netip.AddrFrom16(name.Addr), swapOrder(name.Port)
	}
	v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
	return netip.AddrFrom4(v4.Addr), swapOrder(v4.Port)
}

// swapOrder converts a port between the orders of host and network.
func swapOrder(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}
