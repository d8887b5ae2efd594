package linktest

import (
	"bytes"

	"github.com/rocinante-rdma/roce/link"
)

// overrun: a receiver that does not look loses packets. What it finds later is whole
// and in order, and the link goes on.
func overrun(b *bench) {
	const packets, batch = 10_000, 64
	sent := make([]*packet, packets)
	for i := range sent {
		sent[i] = b.packet(uint32(i), headLen, 64+i/1000, 1) // runs of equal ones
	}
	for i := range sent {
		if i%batch == 0 || b.a.q.Room() == 0 {
			b.a.flush()
		}
		b.a.reserve(sent[i], true)
	}
	b.a.flush()
	for b.Pass != nil && b.Pass() {
	}
	next, arrived := 0, 0
	for frames := b.b.q.Recv(b.b.rx[:]); frames > 0; frames = b.b.q.Recv(b.b.rx[:]) {
		for i := range b.b.rx[:frames] {
			eachPacket(&b.b.rx[i], func(_ int, p [2][]byte) {
				got := bytes.Join(p[:], nil)
				for next < packets && !bytes.Equal(got[:headLen], sent[next].head) {
					next++
				}
				if next == packets {
					b.Fatalf("packet %d of those that arrived is out of order, or none that was sent: %x", arrived, got)
				}
				b.same("packet behind lost ones", received{bytes: got}, sent[next])
				next, arrived = next+1, arrived+1
			})
		}
		b.b.q.Release()
	}
	b.Logf("%d of %d packets found room", arrived, packets)
	good := b.packet(packets, headLen, 33, 1)
	b.a.send(good, true)
	b.find(good)
}

// find receives until a packet comes; others before it do not count. As the engine
// does, it releases only when it has received.
func (b *bench) find(want *packet) {
	b.Helper()
	end := b.b.q.Now().Add(patience)
	for found := false; !found; {
		frames := b.b.look()
		for i := range b.b.rx[:frames] {
			eachPacket(&b.b.rx[i], func(_ int, p [2][]byte) {
				found = found || bytes.HasPrefix(bytes.Join(p[:], nil), want.head)
			})
		}
		if frames > 0 {
			b.b.q.Release()
		} else if b.b.q.Now() >= end {
			b.Fatal("link B receives nothing any more")
		}
	}
}

// lendAll: who releases only when Recv gives nothing more, be it that all frames are
// lent or that none is left, loses nothing, and what is lent stays as it is until
// then.
func lendAll(b *bench) {
	for range 5 {
		var sent []*packet
		for len(sent) < min(b.window(), 500) {
			for room := b.a.q.Room(); room > 0 && len(sent) < b.window(); room-- {
				// Lengths that grow do not join.
				p := b.packet(uint32(len(sent)), headLen, 4*(len(sent)%50), 1)
				b.a.reserve(p, true)
				sent = append(sent, p)
			}
			b.a.flush()
		}
		next, most := 0, 0
		for next < len(sent) {
			lent := b.lend(b.b.look())
			for more := b.b.q.Recv(b.b.rx[:]); more > 0; more = b.b.q.Recv(b.b.rx[:]) {
				lent = append(lent, b.lend(more)...)
			}
			most = max(most, len(lent))
			for _, p := range lent {
				b.same("lent packet", received{bytes: bytes.Join(p[:], nil)}, sent[next])
				next++
			}
			b.b.q.Release()
		}
		b.Logf("at most %d packets lent at once", most)
	}
}

// lend returns the packets of the frames just received, which are not released.
func (b *bench) lend(frames int) (packets [][2][]byte) {
	for i := range b.b.rx[:frames] {
		eachPacket(&b.b.rx[i], func(_ int, p [2][]byte) { packets = append(packets, p) })
		b.b.rx[i] = link.Rx{}
	}
	return packets
}
