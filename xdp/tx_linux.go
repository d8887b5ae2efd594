package xdp

import (
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// maxFrame is a frame of maximal size.
const maxFrame = wire.MaxHeadersLen + link.MaxHeader + link.MaxPayload + link.MaxTail

// transmitter is the sending half of a socket. A packet is written into one chunk or
// two; flush puts them into the TX ring; the completion ring gives them back.
type transmitter struct {
	umem        *umem
	ring        inlet[unix.XDPDesc]
	completions outlet[uint64]
	reserved    []unix.XDPDesc
	free        []uint64 // the last one is taken first: it is in the cache
	perPacket   int      // chunks that a packet of maximal size takes
}

func (t *transmitter) init(u *umem, perPacket int) {
	t.umem, t.perPacket = u, perPacket
	t.reserved = make([]unix.XDPDesc, 0, txChunks)
	t.free = make([]uint64, txChunks)
	for i := range t.free {
		t.free[i] = txChunk(txChunks - 1 - i)
	}
}

// room is the number of packets of maximal size that reserve takes.
func (t *transmitter) room() int { return len(t.free) / t.perPacket }

// reserve writes a packet except for what s leaves to the engine: see [link.Queue].
// If it takes two chunks, the cut is within the payload, or between that and the
// tail, so that neither head nor tail straddles.
func (t *transmitter) reserve(h *wire.Template, id uint16, head int, pay [][]byte, pad int, s *link.Slot) {
	payload := 0
	for _, b := range pay {
		payload += len(b)
	}
	before, tail := h.Len()+head, pad+wire.ICRCLen
	var first, rest []byte
	cut := payload
	if before+payload+tail <= chunkSize {
		first = t.chunk(before+payload+tail, 0)
		s.Tail = first[before+payload:]
	} else {
		cut = min(payload, chunkSize-before)
		first = t.chunk(before+cut, unix.XDP_PKT_CONTD)
		rest = t.chunk(payload-cut+tail, 0)
		rest, s.Tail = rest[:payload-cut:payload-cut], rest[payload-cut:]
	}
	h.Put(first, id, head+payload+tail)
	s.Head = first[h.Len():before:before]
	s.ID = id
	s.Body[0], s.Body[1], s.NBody = first[before:before+cut:before+cut], rest, 2
	copyPayload(s.Body[0], s.Body[1], pay)
}

// copyPayload copies the pieces of a payload to where it goes, in two parts.
func copyPayload(first, rest []byte, pay [][]byte) {
	for _, b := range pay {
		n := copy(first, b)
		first = first[n:]
		rest = rest[copy(rest, b[n:]):]
	}
}

// chunk takes a free one, of which the first n bytes are to be sent.
func (t *transmitter) chunk(n int, options uint32) []byte {
	last := len(t.free) - 1
	addr := t.free[last]
	t.free = t.free[:last]
	t.umem.ledger.move(addr, free, atEngine)
	t.reserved = append(t.reserved, unix.XDPDesc{Addr: addr, Len: uint32(n), Options: options})
	return t.umem.at(addr, uint32(n))
}

// publish shows the kernel what was reserved.
func (t *transmitter) publish() {
	for _, d := range t.reserved {
		t.umem.ledger.move(d.Addr, atEngine, inTx)
		t.ring.put(d)
	}
	t.reserved = t.reserved[:0]
	t.ring.publish()
}

// discard frees what was reserved, and returns the number of packets.
func (t *transmitter) discard() (packets int) {
	for _, d := range t.reserved {
		t.umem.ledger.move(d.Addr, atEngine, free)
		t.free = append(t.free, d.Addr)
		if d.Options&unix.XDP_PKT_CONTD == 0 {
			packets++
		}
	}
	t.reserved = t.reserved[:0]
	return packets
}

// reap takes the chunks back that the kernel is through with.
func (t *transmitter) reap() {
	ready := t.completions.ready()
	if ready == 0 {
		return
	}
	for range ready {
		chunk := chunkOf(t.completions.take())
		t.umem.ledger.move(chunk, inTx, inCompletion)
		t.umem.ledger.move(chunk, inCompletion, free)
		t.free = append(t.free, chunk)
	}
	t.completions.giveBack()
}

// used is the number of chunks that are not free.
func (t *transmitter) used() uint32 { return uint32(txChunks - len(t.free)) }

// packets counts those that the last entries of the ring are.
func (t *transmitter) packets(entries uint32) (n int) {
	for i := t.ring.published - entries; i != t.ring.published; i++ {
		if t.ring.entries[i&t.ring.mask].Options&unix.XDP_PKT_CONTD == 0 {
			n++
		}
	}
	return n
}
