package linktest

import (
	"bytes"
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// ipLen is the longest header of IP and UDP.
const ipLen = wire.IPv6Len + wire.UDPLen

// fits reports whether a packet goes through the link.
func (b *bench) fits(p *packet) bool { return ipLen+p.len() <= b.A.MTU() }

// payloadSizes are the sizes where links go wrong: the ends of words, of cache
// lines, of path MTUs.
func (b *bench) payloadSizes() []int {
	sizes := []int{0, 1, 2, 3, 4, 5, 7, 63, 64, 65}
	for m := 256; m <= link.PathMTU(b.A.MTU()); m *= 2 {
		sizes = append(sizes, m-1, m, m-4)
	}
	return sizes
}

// sizes: headers, payload in any number of pieces, and pad arrive as they were
// sent, in both directions, at every size.
func sizes(b *bench) {
	num := uint32(0)
	for _, hdr := range []int{bth.BTHLen, 16, headLen, 40, link.MaxHeader} {
		for _, n := range b.payloadSizes() {
			for _, pieces := range []int{0, 1, 2, 3, link.MaxSGE} {
				p := b.packet(num, hdr, n, pieces)
				if pieces == 0 {
					p = b.packet(num, hdr, 0, 0)
				}
				if !b.fits(p) {
					continue
				}
				from, to := b.a, b.b
				if num&1 != 0 {
					from, to = to, from
				}
				from.send(p, num&2 != 0)
				b.same(fmt.Sprintf("%d + %d bytes in %d pieces", hdr, n, pieces), to.recv(1)[0], p)
				num++
			}
		}
	}
	b.Logf("%d packets", num)
}

// mustCopy: then Body is the link's memory, and what the caller does to his own
// after Reserve changes nothing.
func mustCopy(b *bench) {
	for i, n := range b.payloadSizes() {
		p := b.packet(uint32(i), headLen, n, 2)
		b.a.reserve(p, true)
		want := bytes.Clone(p.payload)
		fill(b, p.payload)
		if !holds(b.a.slot.Body[:b.a.slot.NBody], want) {
			b.Fatalf("%d bytes: Body follows the caller's memory", n)
		}
		p.payload = want
		b.a.flush()
		b.same("packet", b.b.recv(1)[0], p)
	}
}

// gatherOwnership: after Flush nothing of the caller's memory is looked at, even of
// packets that are still pending.
func gatherOwnership(b *bench) {
	packets := b.batch(min(b.a.q.Room(), b.window()), b.largest)
	for _, p := range packets {
		b.a.reserve(p, false)
	}
	b.a.tryFlush()
	for _, p := range packets {
		sent := bytes.Clone(p.payload)
		fill(b, p.payload)
		p.payload = sent
	}
	b.a.flush()
	b.expect(packets, b.b.recv(len(packets)))
}

// batch makes n packets with payloads of a size.
func (b *bench) batch(n int, size func() int) []*packet {
	packets := make([]*packet, n)
	for i := range packets {
		packets[i] = b.packet(uint32(i), headLen, size(), 1+b.random.IntN(3))
	}
	return packets
}

func (b *bench) largest() int   { return link.PathMTU(b.A.MTU()) }
func (b *bench) anySize() int   { return b.random.IntN(b.largest() + 1) }
func (b *bench) shortSize() int { return b.random.IntN(65) }

// expect: the packets have arrived, in their order.
func (b *bench) expect(want []*packet, got []received) {
	b.Helper()
	for i, p := range want {
		b.same(fmt.Sprintf("packet %d of %d", i, len(want)), got[i], p)
	}
}

// batches: what is flushed together arrives, whole and in order, whether the sizes
// suit a super-frame or not.
func batches(b *bench) {
	total := 0
	for _, size := range []func() int{b.largest, b.anySize, b.shortSize} {
		for range 20 {
			packets := b.batch(1+b.random.IntN(min(b.a.q.Room(), b.window())), size)
			for _, p := range packets {
				b.a.reserve(p, b.random.IntN(2) == 0)
			}
			b.a.flush()
			b.expect(packets, b.b.recv(len(packets)))
			total += len(packets)
		}
	}
	b.Logf("%d packets in 60 batches", total)
}

// smallRecv: Recv sets no more entries than it is given, and loses nothing by it.
func smallRecv(b *bench) {
	const n = 8
	packets := b.batch(min(n, b.window()), b.shortSize)
	for _, p := range packets {
		b.a.reserve(p, true)
	}
	b.a.flush()
	for i := 0; i < len(packets); {
		if frames := b.b.q.Recv(b.b.rx[:0]); frames != 0 {
			b.Fatalf("Recv into no entries returned %d", frames)
		}
		frames := b.b.lookInto(1)
		if frames > 1 {
			b.Fatalf("Recv into one entry returned %d", frames)
		}
		for f := range frames {
			eachPacket(&b.b.rx[f], func(_ int, p [2][]byte) {
				b.same("packet", received{bytes: bytes.Join(p[:], nil)}, packets[i])
				i++
			})
		}
		b.b.q.Release()
	}
}

// lentUntilRelease: received memory stays as it is while more arrives, until
// Release.
func lentUntilRelease(b *bench) {
	first := b.batch(min(8, b.window()), b.anySize)
	for _, p := range first {
		b.a.reserve(p, true)
	}
	b.a.flush()
	var lent [][2][]byte
	for len(lent) < len(first) {
		for i := range b.b.rx[:b.b.look()] {
			eachPacket(&b.b.rx[i], func(_ int, p [2][]byte) { lent = append(lent, p) })
		}
	}
	second := b.batch(min(8, b.window()), b.anySize)
	for _, p := range second {
		b.a.reserve(p, true)
	}
	b.a.flush()
	for b.Pass != nil && b.Pass() {
	}
	for i, p := range lent {
		b.same("lent packet", received{bytes: bytes.Join(p[:], nil)}, first[i])
	}
	b.b.q.Release()
	b.expect(second, b.b.recv(len(second)))
}
