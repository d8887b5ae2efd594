package linktest

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// The checks here send what links may join into super-frames, and what they may not:
// runs of packets of one length.

// shape is a packet as the engine sends it: its headers and its payload.
type shape struct{ hdr, payload int }

// messages are shapes in a row as requesters and responders send them, with an
// acknowledgement behind some.
func (b *bench) messages(n int) (shapes []shape) {
	mtu := b.largest()
	for len(shapes) < n {
		last := 4 * b.random.IntN(mtu/4+1)
		first, ack := bth.BTHLen+bth.RETHLen, bth.BTHLen+bth.AETHLen
		if b.random.IntN(3) == 0 {
			first = ack // a READ response
		}
		shapes = append(shapes, shape{first, mtu})
		for range b.random.IntN(40) {
			shapes = append(shapes, shape{bth.BTHLen, mtu})
		}
		shapes = append(shapes, shape{bth.BTHLen, last})
		for range b.random.IntN(3) {
			shapes = append(shapes, shape{ack, 0})
		}
	}
	return shapes[:n]
}

// runs are shapes of which many in a row are equal, up to more than fit any
// super-frame, beside shorter and longer ones.
func (b *bench) runs(n int) (shapes []shape) {
	for len(shapes) < n {
		s := shape{bth.BTHLen, 4 * b.random.IntN(b.largest()/4+1)}
		if b.random.IntN(2) == 0 {
			s.payload = 4 * b.random.IntN(17)
		}
		for range 1 + b.random.IntN(200) {
			shapes = append(shapes, s)
		}
	}
	return shapes[:n]
}

// supers: messages and runs of equal packets arrive, whole and in order, however they
// were joined.
func supers(b *bench) {
	total := 0
	for _, make := range []func(int) []shape{b.messages, b.runs} {
		for range 20 {
			var packets []*packet
			for i, s := range make(1 + b.random.IntN(min(b.a.q.Room(), b.window()))) {
				packets = append(packets, b.packet(uint32(i), s.hdr, s.payload, 1))
			}
			for _, p := range packets {
				b.a.reserve(p, b.random.IntN(2) == 0)
			}
			b.a.flush()
			b.expect(packets, b.b.recv(len(packets)))
			total += len(packets)
		}
	}
	b.Logf("%d packets in 40 batches", total)
}

// superClasses: packets of one length and one flush that differ in the traffic class
// each arrive with the ECN bits that they left with.
func superClasses(b *bench) {
	var stations [4]*station
	for ecn := range stations {
		s := b.station("A", b.A, b.B)
		s.path.SrcPort, s.path.TrafficClass = b.a.path.SrcPort, uint8(ecn)
		b.noError(b.A.Resolve(&s.path), "Resolve")
		s.path.Prepare()
		stations[ecn] = s
	}
	for range 20 {
		var packets []*packet
		var classes []uint8
		for room := min(b.a.q.Room(), b.window()); room > 0; {
			ecn := b.random.IntN(len(stations))
			for range min(1+b.random.IntN(10), room) {
				p := b.packet(uint32(len(packets)), headLen, 64, 1)
				stations[ecn].reserve(p, true)
				packets, classes = append(packets, p), append(classes, uint8(ecn))
				room--
			}
		}
		b.a.flush()
		got := b.b.recv(len(packets))
		b.expect(packets, got)
		for i, g := range got {
			if g.meta.ECN != classes[i] {
				b.Fatalf("packet %d of %d left with ECN %d and arrived with %d", i, len(got), classes[i], g.meta.ECN)
			}
		}
	}
}

// identifications: the IPv4 identification that Reserve announced is the one that a
// packet arrives with, where the receiver sees it, whatever its place in a
// super-frame; and always the ICRC is right for it.
func identifications(b *bench) {
	if b.a.path.Dst.Is6() {
		b.Skip("IPv6 has no identification")
	}
	seen := 0
	for range 20 {
		var packets []*packet
		var announced []uint16
		for i, s := range b.runs(min(b.a.q.Room(), b.window())) {
			p := b.packet(uint32(i), s.hdr, s.payload, 1)
			b.a.reserve(p, true)
			packets, announced = append(packets, p), append(announced, b.a.slot.ID)
		}
		b.a.flush()
		got := b.b.recv(len(packets))
		b.expect(packets, got)
		for i, g := range got {
			if !g.meta.IDKnown {
				continue
			}
			seen++
			if g.id != announced[i] {
				b.Fatalf("packet %d of %d was announced with identification %d and arrived with %d", i, len(got), announced[i], g.id)
			}
		}
	}
	b.Logf("%d identifications seen", seen)
}

// mtuEdge: a packet that fills the MTU arrives. What is longer arrives as it is or not
// at all, and the link goes on.
func mtuEdge(b *bench) {
	headers := wire.IPv4Len + wire.UDPLen
	if b.a.path.Dst.Is6() {
		headers = ipLen
	}
	room := b.A.MTU() - headers - headLen - wire.ICRCLen
	for _, over := range []int{-4, 0, 4, 8, 100} {
		n := (room + over) &^ 3
		if n > link.MaxPayload {
			b.Skipf("no packet fills an MTU of %d", b.A.MTU())
		}
		p := b.packet(uint32(n), headLen, n, 1)
		b.a.send(p, over%8 == 0)
		good := b.packet(0, headLen, 33, 1)
		b.a.send(good, true)
		if over <= 0 {
			b.expect([]*packet{p, good}, b.b.recv(2))
			continue
		}
		b.sift(p.bytes(), good)
	}
}
