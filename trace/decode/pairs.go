package decode

import (
	"net/netip"
	"slices"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
	"github.com/rocinante-rdma/roce/wire"
)

// Pairs learns from traffic which two queue pairs form a connection. Connected
// packets name only their destination; what tells the other end is, in this order
// of weight, the connection manager's exchange, the UDP source port (kernels
// derive it from both QPNs), and an answer whose PSN only one queue pair of the
// other side has asked for.
//
// Learn a whole capture first, then ask. A Pairs is not safe for concurrent use.
type Pairs struct {
	halves map[route]*half
	toward map[hosts][]*half
	calls  map[call]uint32 // QPN of a connection request that waits for its answer
}

// NewPairs returns an empty Pairs.
func NewPairs() *Pairs {
	return &Pairs{make(map[route]*half), make(map[hosts][]*half), make(map[call]uint32)}
}

// maxHalves bounds what a capture can make us remember; connections beyond it stay
// unpaired.
const maxHalves = 2048

type hosts struct{ src, dst netip.Addr }

func (p *Packet) hosts() hosts { return hosts{p.Src, p.Dst} }

func (h hosts) back() hosts { return hosts{h.dst, h.src} }

// route is the way to one queue pair.
type route struct {
	hosts
	qpn uint32
}

func routeOf(p *Packet) route { return route{p.hosts(), p.BTH.DestQP} }

// half is one direction of a connection.
type half struct {
	route
	service bth.Transport
	port    uint16
	peer    *half
	doubted bool // two different peers were seen: better none than a wrong one

	asked       bool // a request was seen
	first, last bth.PSN
	mtu         int
	packets     int
}

type call struct {
	hosts
	id mad.CommID
}

// Learn takes in one packet.
func (ps *Pairs) Learn(p *Packet) {
	if p.Err != nil || p.ICRC == ICRCBad {
		return
	}
	if p.CM != nil {
		ps.learnCM(p)
		return
	}
	if connected(p.BTH.Opcode) {
		ps.learnConnected(p)
	}
}

// connected reports whether an opcode is of a service between two queue pairs that
// can be followed.
func connected(op bth.Opcode) bool {
	t := op.Transport()
	return t == bth.TransportRC || t == bth.TransportUC || t == bth.TransportXRC
}

func (ps *Pairs) learnConnected(p *Packet) {
	h := ps.half(routeOf(p))
	if h == nil {
		return
	}
	h.packets++
	h.service, h.port = p.BTH.Opcode.Transport(), p.SrcPort
	h.learnMTU(&p.BTH)
	if p.BTH.Opcode.Is(bth.Request) {
		h.learnRequest(p.BTH.PSN)
	}
	if h.peer == nil && !h.doubted {
		ps.match(h, p)
	}
}

// half returns the half of a route, nil if there are too many.
func (ps *Pairs) half(r route) *half {
	h := ps.halves[r]
	if h == nil && len(ps.halves) < maxHalves {
		h = &half{route: r}
		ps.halves[r] = h
		ps.toward[r.hosts] = append(ps.toward[r.hosts], h)
	}
	return h
}

// learnMTU: a packet that is not its message's last is exactly one path MTU long.
func (h *half) learnMTU(p *bth.Packet) {
	if p.Opcode.Is(bth.Payload) && !p.Opcode.Is(bth.Last) {
		h.mtu = max(h.mtu, p.PayloadLen())
	}
}

func (h *half) learnRequest(psn bth.PSN) {
	if !h.asked {
		h.asked, h.first, h.last = true, psn, psn
	}
	if psn.After(h.last) {
		h.last = psn
	}
	if psn.Before(h.first) {
		h.first = psn
	}
}

// match looks for the half in the other direction.
func (ps *Pairs) match(h *half, p *Packet) {
	var fits []*half
	for _, c := range ps.toward[h.back()] {
		if c == h || c.peer != nil || c.doubted || c.service != h.service {
			continue
		}
		if c.port == h.port && wire.SourcePort(h.qpn, c.qpn) == h.port {
			join(h, c)
			return
		}
		if p.BTH.Opcode.Is(bth.Response) && c.hasAsked(p.BTH.PSN) {
			fits = append(fits, c)
		}
	}
	if len(fits) == 1 {
		join(h, fits[0])
	}
}

func (h *half) hasAsked(psn bth.PSN) bool {
	return h.asked && !psn.Before(h.first) && !psn.After(h.last)
}

func join(a, b *half) { a.peer, b.peer = b, a }

// learnCM pairs by a connection request and its answer.
func (ps *Pairs) learnCM(p *Packet) {
	h := p.hosts()
	switch m := p.CM.Message.(type) {
	case *mad.REQ:
		if len(ps.calls) < maxHalves {
			ps.calls[call{h, m.LocalCommID}] = m.LocalQPN
		}
	case *mad.REP:
		caller, ok := ps.calls[call{h.back(), m.RemoteCommID}]
		if !ok {
			return
		}
		a, b := ps.half(route{h, caller}), ps.half(route{h.back(), m.LocalQPN})
		if a != nil && b != nil {
			introduce(a, b)
		}
	}
}

// introduce joins two halves, or none if one of them has another peer: queue pair
// numbers are used again in long captures.
func introduce(a, b *half) {
	if (a.peer == nil || a.peer == b) && (b.peer == nil || b.peer == a) {
		join(a, b)
		return
	}
	for _, h := range []*half{a, b, a.peer, b.peer} {
		if h != nil {
			h.peer, h.doubted = nil, true
		}
	}
}

// peer is the queue pair that sends on a route.
func (ps *Pairs) peer(r route) QPN {
	if h := ps.halves[r]; h != nil && h.peer != nil {
		return QPN{h.peer.qpn, true}
	}
	return QPN{}
}

// mtu is the path MTU of a route's connection, 0 if nothing told it.
func (ps *Pairs) mtu(r route) int {
	h := ps.halves[r]
	if h == nil {
		return 0
	}
	if h.peer != nil {
		return max(h.mtu, h.peer.mtu)
	}
	return h.mtu
}

// Connection is two queue pairs that talk to each other, or one whose peer is
// unknown.
type Connection struct {
	A, B    Endpoint
	Service bth.Transport
	MTU     int // bytes, 0 if unknown
	Packets int
}

// Endpoint is a queue pair at an address.
type Endpoint struct {
	Addr netip.Addr
	QP   QPN
}

// Connections lists what was learned, ordered by address and number.
func (ps *Pairs) Connections() []Connection {
	var all []Connection
	for _, h := range ps.halves {
		c := Connection{
			A:       Endpoint{h.src, ps.peer(h.route)},
			B:       Endpoint{h.dst, QPN{h.qpn, true}},
			Service: h.service, MTU: ps.mtu(h.route), Packets: h.packets,
		}
		if h.peer != nil {
			c.Packets += h.peer.packets
		}
		if c.Packets > 0 && (h.peer == nil || c.A.compare(c.B) <= 0) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y Connection) int {
		if n := x.A.compare(y.A); n != 0 {
			return n
		}
		return x.B.compare(y.B)
	})
	return all
}

func (e Endpoint) compare(f Endpoint) int {
	if n := e.Addr.Compare(f.Addr); n != 0 {
		return n
	}
	return int(e.QP.N) - int(f.QP.N)
}
