package linktest

import (
	"bytes"
	"encoding/binary"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// headLen is the length of a usual header: a WRITE's.
const headLen = bth.BTHLen + bth.RETHLen

// packet is one packet as the suite sends it: random bytes behind a header that
// begins with a number.
type packet struct {
	head, payload []byte
	pieces        [][]byte // of payload
	pad           int
}

// packet makes a packet with a header of hdr bytes and n bytes of payload in
// pieces.
func (b *bench) packet(num uint32, hdr, n, pieces int) *packet {
	p := &packet{head: make([]byte, hdr), payload: make([]byte, n), pad: -n & 3}
	fill(b, p.head)
	fill(b, p.payload)
	binary.BigEndian.PutUint32(p.head[8:], num)
	rest := p.payload
	for ; pieces > 1; pieces-- {
		cut := b.random.IntN(len(rest) + 1)
		p.pieces = append(p.pieces, rest[:cut])
		rest = rest[cut:]
	}
	if pieces == 1 {
		p.pieces = append(p.pieces, rest)
	}
	return p
}

func fill(b *bench, to []byte) {
	for i := range to {
		to[i] = byte(b.random.Uint32())
	}
}

// len is the length of the UDP payload.
func (p *packet) len() int { return len(p.head) + len(p.payload) + p.pad + wire.ICRCLen }

// bytes is the UDP payload, but for the ICRC.
func (p *packet) bytes() []byte {
	return bytes.Join([][]byte{p.head, p.payload, make([]byte, p.pad)}, nil)
}

// reserve puts the packet into the link's slot and seals it.
func (s *station) reserve(p *packet, mustCopy bool) {
	s.t.Helper()
	if s.q.Room() < 1 {
		s.t.Fatalf("link %s: no Room for one packet", s.name)
	}
	slot := &s.slot
	s.q.Reserve(&s.path, len(p.head), p.pieces, p.pad, mustCopy, slot)
	if len(slot.Head) != len(p.head) || len(slot.Tail) != p.pad+wire.ICRCLen {
		s.t.Fatalf("link %s: Reserve gave a head of %d and a tail of %d bytes, want %d and %d",
			s.name, len(slot.Head), len(slot.Tail), len(p.head), p.pad+wire.ICRCLen)
	}
	copy(slot.Head, p.head)
	if !holds(slot.Body[:slot.NBody], p.payload) {
		s.t.Fatalf("link %s: Body is not the payload of %d bytes in %d pieces", s.name, len(p.payload), len(p.pieces))
	}
	s.path.Seal(slot.ID, slot.Head, slot.Body[:slot.NBody], slot.Tail)
}

// holds reports whether pieces make up want.
func holds(pieces [][]byte, want []byte) bool {
	for _, piece := range pieces {
		if len(piece) > len(want) || !bytes.Equal(piece, want[:len(piece)]) {
			return false
		}
		want = want[len(piece):]
	}
	return len(want) == 0
}

// flush sends what was reserved, all of it.
func (s *station) flush() {
	s.t.Helper()
	for rest := s.tryFlush(); rest > 0; {
		s.sleep(link.Interest{Tx: true}, func() bool {
			before := rest
			rest = s.tryFlush()
			return rest < before
		})
		rest = s.tryFlush()
	}
}

func (s *station) tryFlush() (pending int) {
	s.t.Helper()
	pending, err := s.q.Flush()
	if err != nil {
		s.t.Fatalf("link %s: Flush: %v", s.name, err)
	}
	return pending
}

// send sends one packet.
func (s *station) send(p *packet, mustCopy bool) {
	s.t.Helper()
	s.reserve(p, mustCopy)
	s.flush()
}

// piece cuts n bytes at off out of a received frame.
func piece(rx *link.Rx, off, n int) [2][]byte {
	first := len(rx.Frag[0])
	if off >= first {
		return [2][]byte{rx.Frag[1][off-first : off-first+n]}
	}
	if off+n <= first {
		return [2][]byte{rx.Frag[0][off : off+n]}
	}
	return [2][]byte{rx.Frag[0][off:], rx.Frag[1][:off+n-first]}
}

// eachPacket calls f for every packet of a received frame.
func eachPacket(rx *link.Rx, f func(index int, packet [2][]byte)) {
	total := len(rx.Frag[0]) + len(rx.Frag[1])
	seg := rx.Seg
	if seg == 0 {
		seg = max(total, 1)
	}
	for off, index := 0, 0; off < total; off, index = off+seg, index+1 {
		f(index, piece(rx, off, min(seg, total-off)))
	}
}

// verify checks the ICRC with what the link says of the packet.
func (s *station) verify(m *link.Meta, index int, packet [2][]byte) wire.ICRC {
	if m.IDKnown {
		return s.check.Verify(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID+uint16(index), packet)
	}
	return s.check.Infer(m.Src, m.Dst, m.SrcPort, index, packet)
}

// received is a copy of a received packet.
type received struct {
	bytes []byte
	meta  link.Meta // of its frame
	id    uint16    // its own, if meta.IDKnown
}

// recv receives n packets, checks their ICRC, and gives the frames back.
func (s *station) recv(n int) (got []received) {
	s.t.Helper()
	for len(got) < n {
		s.got, s.want = len(got), n
		frames := s.look()
		for i := range s.rx[:frames] {
			rx := &s.rx[i]
			eachPacket(rx, func(index int, p [2][]byte) {
				if s.verify(&rx.Meta, index, p) == wire.ICRCBad {
					s.t.Errorf("link %s: ICRC of packet %d of %d bytes is bad, %+v",
						s.name, len(got), len(p[0])+len(p[1]), rx.Meta)
				}
				got = append(got, received{bytes.Join(p[:], nil), rx.Meta, rx.Meta.ID + uint16(index)})
			})
		}
		s.q.Release()
	}
	if len(got) > n {
		s.t.Fatalf("link %s: received %d packets, sent were %d", s.name, len(got), n)
	}
	return got
}

// same fails unless a received packet is what was sent.
func (b *bench) same(what string, got received, want *packet) {
	b.Helper()
	if len(got.bytes) != want.len() {
		b.Fatalf("%s: received %d bytes, sent were %d", what, len(got.bytes), want.len())
	}
	head, rest := got.bytes[:len(want.head)], got.bytes[len(want.head):]
	if !bytes.Equal(head, want.head) {
		b.Fatalf("%s: headers are\n%x, sent were\n%x", what, head, want.head)
	}
	if !bytes.Equal(rest[:len(want.payload)], want.payload) {
		b.Fatalf("%s: payload of %d bytes differs from what was sent", what, len(want.payload))
	}
}
