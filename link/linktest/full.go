package linktest

import (
	"testing"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// fullQueue: Room is a promise, Flush says what is pending, and what was pending
// arrives later, in order.
func fullQueue(b *bench) {
	var sent []*packet
	most := 0
	for len(sent) < min(4*b.a.q.Room()+4, b.window()) {
		for room := b.a.q.Room(); room > 0 && len(sent) < b.window(); room-- {
			if now := b.a.q.Room(); now < room {
				b.Fatalf("Room was %d, and is %d where at least %d must be left", room, now, room)
			}
			p := b.packet(uint32(len(sent)), headLen, b.largest(), 2)
			b.a.reserve(p, len(sent)%2 == 0)
			sent = append(sent, p)
		}
		pending := b.a.tryFlush()
		most = max(most, pending)
		if pending > len(sent) {
			b.Fatalf("%d packets pending of %d", pending, len(sent))
		}
		if pending > 0 && b.a.q.Room() == 0 {
			break
		}
	}
	b.a.flush()
	b.expect(sent, b.b.recv(len(sent)))
	b.Logf("%d packets, at most %d pending", len(sent), most)
}

// allocations: a packet costs none, on either side.
func allocations(b *bench) {
	if testenv.Race {
		b.Skip("the race detector adds allocations")
	}
	small, large := b.packet(1, headLen, 64, 1), b.packet(2, headLen, b.largest(), 3)
	round := func() {
		b.a.reserve(small, true)
		b.a.reserve(large, false)
		b.a.flush()
		for packets := 0; packets < 2; {
			for i := range b.b.rx[:b.b.look()] {
				rx := &b.b.rx[i]
				packets += max(1, divideUp(len(rx.Frag[0])+len(rx.Frag[1]), rx.Seg))
			}
			b.b.q.Release()
		}
	}
	b.b.q.Release()
	for range 100 { // let pools fill
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 {
		b.Errorf("%v allocations for two packets", n)
	}
}

func divideUp(n, by int) int {
	if by == 0 {
		return 1
	}
	return (n + by - 1) / by
}
