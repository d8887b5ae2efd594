package linktest

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// attributes: a link has a name, an address, an MTU with room for a path MTU, and
// these stay.
func attributes(b *bench) {
	for _, l := range []link.Link{b.A, b.B} {
		if l.Name() == "" || len(l.Addrs()) == 0 || link.PathMTU(l.MTU()) == 0 {
			b.Errorf("name %q, addresses %v, MTU %d: all must be usable", l.Name(), l.Addrs(), l.MTU())
		}
		if a := l.Addrs()[0]; a.Is4In6() {
			b.Errorf("address %v is an IPv4-mapped one; IPv4 addresses are 4-byte", a)
		}
		if l.Queue() != l.Queue() {
			b.Error("Queue must give the same queue every time")
		}
		if room := l.Queue().Room(); room < 1 {
			b.Errorf("Room of a fresh queue is %d", room)
		}
		first := l.Queue().Now()
		if again := l.Queue().Now(); again < first {
			b.Errorf("the clock runs back, from %v to %v", first, again)
		}
	}
}

// resolve: a source address that is not the link's is refused.
func resolve(b *bench) {
	p := b.pathBetween(b.A, b.B)
	p.Src = netip.MustParseAddr("198.51.100.77") // TEST-NET-2: nobody's
	if p.Dst.Is6() {
		p.Src = netip.MustParseAddr("2001:db8::77")
	}
	if err := b.A.Resolve(&p); err == nil {
		b.Errorf("Resolve took the source address %v; the link's are %v", p.Src, b.A.Addrs())
	}
}

// trafficClass: the ECN bits arrive, whatever the DSCP, of small packets and of the largest,
// which may lie in several pieces; so do addresses, port and flags.
func trafficClass(b *bench) {
	for i := range 32 {
		s := b.station("A", b.A, b.B)
		s.path.TrafficClass = uint8(i&3 | i>>2&3*26<<2)
		b.noError(b.A.Resolve(&s.path), "Resolve")
		size := 100
		if i >= 16 {
			size = b.largest()
		}
		p := b.packet(uint32(i), headLen, size, 1)
		s.send(p, true)
		got := b.b.recv(1)[0]
		b.same("packet", got, p)
		m := got.meta
		if m.ECN != s.path.TrafficClass&3 {
			b.Errorf("traffic class 0x%02x arrived with ECN %d", s.path.TrafficClass, m.ECN)
		}
		if m.Src != s.path.Src || m.Dst != s.path.Dst || m.SrcPort != s.path.SrcPort {
			b.Errorf("sent from %v:%d to %v, received from %v:%d to %v",
				s.path.Src, s.path.SrcPort, s.path.Dst, m.Src, m.SrcPort, m.Dst)
		}
		if m.Dst.Is4() && m.Flags != wire.DontFragment {
			b.Errorf("IPv4 flags 0x%04x, want Don't Fragment alone", m.Flags)
		}
	}
}
