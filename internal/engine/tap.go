package engine

import (
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// tapReceived tells the tap of a received packet.
func (s *Shard) tapReceived(p [2][]byte, meta *link.Meta, index int, q *QP, icrc wire.ICRC, v transport.Verdict) {
	s.pieces[0], s.pieces[1] = p[0], p[1]
	n := 1
	if len(p[1]) > 0 {
		n = 2
	}
	s.event = trace.Event{
		Time: s.now, Dir: trace.In,
		Src: meta.Src, Dst: meta.Dst, SrcPort: meta.SrcPort, TrafficClass: meta.ECN,
		ID: meta.ID + uint16(index), IDKnown: meta.IDKnown, Flags: meta.Flags,
		Frame: s.pieces[:n], ICRC: icrc, Verdict: v,
	}
	if q != nil {
		s.event.QPN = q.qpn
	}
	s.tap.Packet(&s.event)
}

// tapSent tells the tap of the packet just sealed.
func (s *Shard) tapSent(q *QP, path *wire.Path) {
	n := 0
	add := func(b []byte) { s.pieces[n] = b; n++ }
	add(s.slot.Head)
	for _, b := range s.slot.Body[:s.slot.NBody] {
		add(b)
	}
	add(s.slot.Tail)
	s.event = trace.Event{
		Time: s.now, Dir: trace.Out, QPN: q.qpn,
		Src: path.Src, Dst: path.Dst, SrcPort: path.SrcPort, TrafficClass: path.TrafficClass,
		ID: s.slot.ID, IDKnown: true, Flags: wire.DontFragment,
		Frame: s.pieces[:n], ICRC: s.sentICRC(), Cause: s.out.Why,
	}
	s.tap.Packet(&s.event)
}
