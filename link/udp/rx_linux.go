package udp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	rxFrames = 64

	// frameSize is room for any datagram, so that none is cut short. A little more
	// than a power of two, frames do not share the sets of the processor's caches.
	frameSize = 64<<10 + 192

	// maxRecvBytes bounds what a call may move when it asks for more than one:
	// four super-frames.
	maxRecvBytes = 4 * maxSuperFrame

	// recvTries bounds the calls of one Recv: socket errors and oversize datagrams
	// are skipped, but a flood of them must not hold the shard.
	recvTries = 4
)

// receiver holds the frames that Recv lends, in order, until Release.
type receiver struct {
	addr    netip.Addr
	memory  []byte
	msgs    [rxFrames]mmsg.Message
	iovs    [rxFrames]unix.Iovec
	names   [rxFrames]unix.RawSockaddrInet6 // or, in the first bytes, RawSockaddrInet4
	control [rxFrames][recvControlSize]byte
	lent    int
	pace    mmsg.Pace
}

func (r *receiver) init(addr netip.Addr) {
	r.addr = addr
	r.memory = make([]byte, rxFrames*frameSize)
	r.pace.Bytes = maxRecvBytes
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
func (r *receiver) next(limit int) []mmsg.Message {
	msgs := r.msgs[r.lent:min(r.lent+min(limit, r.pace.Next()), rxFrames)]
	for i := range msgs {
		msgs[i].Namelen = unix.SizeofSockaddrInet6
		msgs[i].Flags = 0
		msgs[i].SetControllen(recvControlSize)
	}
	return msgs
}

// lent is what one call of the kernel brought.
type lent struct {
	frames  int // entered into the caller's rx
	packets int // in them
	supers  int // of them with several packets
	tooLong int // packets left out
	bytes   int // of all
}

// lend enters the datagrams of the last call into rx, without those too long to be
// packets. Empty ones are for the engine to count.
func (r *receiver) lend(n int, rx []link.Rx) (got lent) {
	for i := r.lent; i < r.lent+n; i++ {
		m := &r.msgs[i]
		size := int(m.N)
		ecn, seg := readControl(r.control[i][:m.Controllen])
		got.bytes += size
		packets := packetsIn(size, seg)
		if longest(size, seg) > outbox.MaxPacket {
			got.tooLong += packets
			continue
		}
		rx[got.frames] = link.Rx{
			Frag: [2][]byte{r.frame(i, size)},
			Seg:  seg,
			Meta: link.Meta{Dst: r.addr, ECN: ecn, Flags: wire.DontFragment},
		}
		meta := &rx[got.frames].Meta
		meta.Src, meta.SrcPort = sender(&r.names[i])
		got.frames++
		got.packets += packets
		if packets > 1 {
			got.supers++
		}
	}
	if got.frames > 0 { // else nobody will give them back
		r.lent += n
	}
	return got
}

// packetsIn is the number of packets in a datagram or super-frame.
func packetsIn(size, seg int) int {
	if seg == 0 {
		return 1
	}
	return (size + seg - 1) / seg
}

// longest is the length of the longest packet in a datagram or super-frame.
func longest(size, seg int) int {
	if seg == 0 {
		return size
	}
	return min(size, seg)
}

func (r *receiver) frame(i, n int) []byte {
	at := i * frameSize
	return r.memory[at : at+n : at+n]
}

// Recv makes one receive call, or a few when the first brings only datagrams too
// long to be packets. See [link.Queue].
func (q *queue) Recv(rx []link.Rx) int {
	if !q.spot.Enter() {
		return 0
	}
	defer q.spot.Leave()
	for range recvTries {
		msgs := q.rx.next(len(rx))
		if len(msgs) == 0 {
			return 0
		}
		n, errno := mmsg.Recv(q.sock, msgs)
		switch errno {
		case 0:
		case unix.EAGAIN:
			q.rx.pace.Note(len(msgs), 0, 0, rxFrames/2)
			return 0
		case unix.EINTR:
			continue
		default: // an ICMP error, reported once
			q.count.sockErrors.Add(1)
			continue
		}
		got := q.rx.lend(n, rx)
		q.rx.pace.Note(len(msgs), n, got.bytes, rxFrames/2)
		q.count.lent(&got)
		if got.frames > 0 {
			return got.frames
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
