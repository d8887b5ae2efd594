package simnet

import (
	"cmp"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link"
)

// superBytes is the most that the packets of a super-frame add up to.
const superBytes = 64 << 10

// SuperFrames makes the link join received packets, at most so many, as kernels and
// network cards do: those that wait for Recv one behind the other, that have the same
// headers and consecutive IPv4 identifications, and the length of the first or, the
// last of them, a shorter one. To the world they are single packets: faults, counters
// and events know nothing of it.
func SuperFrames(packets int) LinkOption { return func(l *Link) { l.joins = packets } }

// Fragments makes the link deliver frames in two fragments that part at a random
// place, but not within headers, as rings of small buffers do.
func Fragments() LinkOption { return func(l *Link) { l.fragments = true } }

// HiddenIDs makes the link one that does not see the IPv4 identification of what it
// receives, as a UDP socket does not. Super-frames then join whatever it is.
func HiddenIDs() LinkOption { return func(l *Link) { l.hiddenIDs = true } }

// next takes the next frame out of the inbox and lends it.
func (q *queue) next() link.Rx {
	l, f := q.link, q.inbox.pop()
	for q.inbox.len() > 0 && l.joinable(f, q.inbox.peek()) {
		g := q.inbox.pop()
		f.join(g)
		l.world.free(g)
	}
	q.lent = append(q.lent, f)
	rx := link.Rx{Frag: [2][]byte{f.bytes()}, Seg: f.seg, Meta: f.meta}
	if l.hiddenIDs {
		rx.Meta.ID, rx.Meta.IDKnown = 0, false
	}
	if l.fragments {
		q.part(&rx, f)
	}
	return rx
}

// joinable reports whether g may be the next packet of the super-frame f.
func (l *Link) joinable(f, g *frame) bool {
	seg := cmp.Or(f.seg, f.n)
	if seg == 0 || g.n == 0 || g.n > seg || g.seg != 0 {
		return false
	}
	have := f.n / seg
	if f.n%seg != 0 || have >= l.joins || f.n+g.n > superBytes {
		return false
	}
	want := f.meta
	if l.hiddenIDs {
		want.ID = g.meta.ID
	} else if want.IDKnown {
		want.ID += uint16(have)
	}
	return want == g.meta
}

// join appends a packet to f.
func (f *frame) join(g *frame) {
	if f.seg == 0 {
		f.seg = f.n
	}
	if len(f.buf) < superBytes {
		f.buf = append(make([]byte, 0, superBytes), f.buf...)[:superBytes]
	}
	f.n += copy(f.buf[f.n:], g.bytes())
}

// part moves the end of a lent frame into memory of its own.
func (q *queue) part(rx *link.Rx, f *frame) {
	at := q.parting(f)
	if at == f.n {
		return
	}
	rest := q.link.world.frame()
	rest.set(f.buf[at:f.n])
	wipe(f.buf[at:f.n])
	f.n = at
	q.lent = append(q.lent, rest)
	rx.Frag = [2][]byte{f.bytes(), rest.bytes()}
}

// parting is where a frame may be cut in two: anywhere but within the headers of a
// packet, and not before the first.
func (q *queue) parting(f *frame) int {
	at := q.dice.IntN(f.n + 1)
	begin, end := 0, f.n
	if f.seg > 0 {
		begin = at / f.seg * f.seg
		end = min(begin+f.seg, f.n)
	}
	headers := headersOf(f.buf[begin:end])
	switch {
	case at >= begin+headers:
		return at
	case begin > 0:
		return begin
	}
	return headers
}

// headersOf is the length of a packet's headers, or of all of it if it is shorter.
func headersOf(packet []byte) int {
	if len(packet) == 0 {
		return 0
	}
	return min(len(packet), max(bth.Opcode(packet[0]).HeaderLen(), bth.BTHLen))
}
