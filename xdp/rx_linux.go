package xdp

import (
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/nic"
	"github.com/rocinante-rdma/roce/link"
)

// receiver is the receiving half of a socket. Chunks go round: the fill ring gives
// them to the kernel, the RX ring gives them to us with packets in them, the engine
// has them until release.
type receiver struct {
	nic  *nic.NIC
	umem *umem
	fill inlet[uint64]
	ring outlet[unix.XDPDesc]
	lent []uint64 // chunks that the engine has
	part chain
}

// chain is a packet in the chunks that it came in, as far as it has come. Longer ones
// than two chunks are no RoCEv2: the rest of them is given back at once.
type chain struct {
	chunks [2]unix.XDPDesc
	n      int // chunks of the packet, also those given back
}

// init gives the kernel all chunks.
func (r *receiver) init(n *nic.NIC, u *umem) {
	r.nic, r.umem = n, u
	r.lent = make([]uint64, 0, rxChunks)
	for i := range rxChunks {
		addr := rxChunk(i)
		u.ledger.move(addr, free, inFill)
		r.fill.put(addr)
	}
	r.fill.publish()
}

// recv sets out to packets and returns their number.
func (r *receiver) recv(out []link.Rx, c *counters) (n int) {
	for ready := r.ring.ready(); ready > 0 && n < len(out); ready-- {
		if !r.add(r.ring.take()) {
			continue
		}
		if r.deliver(&out[n], c) {
			n++
		}
		r.part.n = 0
	}
	r.ring.giveBack()
	r.fill.publish()
	return n
}

// add adds a chunk to the packet that is coming, and reports whether it was its last.
func (r *receiver) add(d unix.XDPDesc) (last bool) {
	r.umem.ledger.move(chunkOf(d.Addr), inFill, inRx)
	if r.part.n < len(r.part.chunks) {
		r.part.chunks[r.part.n] = d
	} else {
		r.recycle(d.Addr, inRx)
	}
	r.part.n++
	return d.Options&unix.XDP_PKT_CONTD == 0
}

// deliver lends the packet to the engine, or drops it.
func (r *receiver) deliver(out *link.Rx, c *counters) bool {
	chunks := r.part.chunks[:min(r.part.n, len(r.part.chunks))]
	if !r.accept(out, c) {
		for _, d := range chunks {
			r.recycle(d.Addr, inRx)
		}
		return false
	}
	for _, d := range chunks {
		chunk := chunkOf(d.Addr)
		r.umem.ledger.move(chunk, inRx, atEngine)
		r.lent = append(r.lent, chunk)
	}
	return true
}

// accept sets out to the packet, if it is one for this link.
func (r *receiver) accept(out *link.Rx, c *counters) bool {
	if r.part.n > len(r.part.chunks) {
		c.long.Add(1)
		return false
	}
	first, rest := r.bytes(0), r.bytes(1)
	at, size, ok := r.nic.Accept(first, len(first)+len(rest), nic.Tag{}, &out.Meta)
	if !ok {
		return false
	}
	out.Seg = 0
	end := at + size
	if end <= len(first) {
		out.Frag = [2][]byte{first[at:end]}
		return true
	}
	if len(first) < at+link.MaxHeader {
		c.split.Add(1)
		return false
	}
	out.Frag = [2][]byte{first[at:], rest[:end-len(first)]}
	return true
}

// bytes is what a chunk of the packet holds.
func (r *receiver) bytes(i int) []byte {
	if i >= r.part.n {
		return nil
	}
	return r.umem.at(r.part.chunks[i].Addr, r.part.chunks[i].Len)
}

// recycle puts a chunk into the fill ring.
func (r *receiver) recycle(addr uint64, from owner) {
	chunk := chunkOf(addr)
	r.umem.ledger.move(chunk, from, inFill)
	r.fill.put(chunk)
}

// release gives the kernel what was lent to the engine.
func (r *receiver) release() {
	for _, chunk := range r.lent {
		r.recycle(chunk, atEngine)
	}
	r.lent = r.lent[:0]
	r.fill.publish()
}
