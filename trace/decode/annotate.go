package decode

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
)

// Annotator follows connections packet by packet: it names the sending queue pair
// and adds notes where the sequence deserves a word. It takes the packets of a
// capture in order, after [Pairs] has learned all of them.
type Annotator struct {
	pairs      *Pairs
	streams    map[view]*stream
	lost       map[int]bool // packet numbers, see Lost
	congestion *congestion
}

// view is a route as one capture point sees it. Captures of several points hold a
// packet several times, so each point is judged by itself.
type view struct {
	point int
	route
}

// NewAnnotator returns an Annotator that begins at the capture's first packet.
func NewAnnotator(pairs *Pairs) *Annotator {
	return &Annotator{pairs, make(map[view]*stream), make(map[int]bool), newCongestion()}
}

// Lost tells the numbers of packets that are in the capture, but of which a later
// NAK says that they did not arrive.
func (a *Annotator) Lost() map[int]bool { return a.lost }

// Congestion tells what the packets so far say of congestion control.
func (a *Annotator) Congestion() Congestion { return a.congestion.Congestion }

// Annotate sets SrcQP and Notes.
func (a *Annotator) Annotate(p *Packet) {
	p.SrcQP = a.source(p)
	a.congestion.follow(p)
	if p.Err != nil {
		p.note(NoteBroken, "no receiver takes it")
		return
	}
	noteICRC(p)
	if p.CM != nil {
		a.expect(p)
		return
	}
	if connected(p.BTH.Opcode) {
		a.follow(p)
	}
}

func (a *Annotator) source(p *Packet) QPN {
	if p.Err == nil && p.BTH.Opcode.Is(bth.HasDETH) {
		return QPN{p.BTH.DETH.SrcQP, true}
	}
	return a.pairs.peer(routeOf(p))
}

func noteICRC(p *Packet) {
	switch p.ICRC {
	case ICRCGood:
	case ICRCBad:
		p.note(NoteBadICRC, "ICRC bad: damaged, or its addresses changed in flight; a receiver drops it")
	default:
		p.note(NoteICRCUnknown, "ICRC "+p.ICRC.String())
	}
}

// follow judges a packet of a connected service against those before it.
func (a *Annotator) follow(p *Packet) {
	s := a.stream(view{p.Point, routeOf(p)})
	if s == nil || p.ICRC == ICRCBad && !(s.begun && s.run == p.BTH.PSN) {
		return // the header of a damaged packet proves nothing
	}
	switch {
	case p.BTH.Opcode.Is(bth.Request):
		if s.jumpsTo(p.BTH.PSN) {
			a.restart(s, p)
		}
		s.request(p, a.pairs.mtu(routeOf(p)))
	case p.BTH.Opcode.Is(bth.Response):
		s.response(p, a.opposite(s), a)
	}
}

func (a *Annotator) stream(v view) *stream {
	s := a.streams[v]
	if s == nil && len(a.streams) < maxHalves {
		s = &stream{view: v}
		a.streams[v] = s
	}
	return s
}

// restart forgets both directions: the queue pair numbers are used again.
func (a *Annotator) restart(s *stream, p *Packet) {
	p.note(NoteRestart, fmt.Sprintf("PSN jumps from %d: another connection, or much is missing", s.next))
	if o := a.opposite(s); o != nil {
		o.forget()
	}
	s.forget()
}

// opposite is the stream of requests that a response answers; nil if the peer is
// unknown or has not sent anything.
func (a *Annotator) opposite(s *stream) *stream {
	peer := a.pairs.peer(s.route)
	if !peer.Known {
		return nil
	}
	return a.streams[view{s.point, route{s.back(), peer.N}}]
}

// expect begins a stream at the PSN that a connection's two ends agreed on: each
// names what the other side shall begin with.
func (a *Annotator) expect(p *Packet) {
	var qpn, psn uint32
	switch m := p.CM.Message.(type) {
	case *mad.REQ:
		qpn, psn = m.LocalQPN, m.StartingPSN
	case *mad.REP:
		qpn, psn = m.LocalQPN, m.StartingPSN
	default:
		return
	}
	v := view{p.Point, route{p.hosts().back(), qpn}}
	if s := a.stream(v); s != nil && !(s.begun && s.start == bth.PSN(psn)) {
		*s = stream{view: v, begun: true, start: bth.PSN(psn), next: bth.PSN(psn), run: bth.PSN(psn)}
	}
}
