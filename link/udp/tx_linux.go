package udp

import (
	"cmp"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// destination is what the packets of a super-frame have in common: all that is in
// their headers but the lengths.
type destination struct {
	*peer
	class, hops uint8
}

// Reserve begins a packet to a path that [Link.Resolve] prepared. See [link.Queue].
func (q *queue) Reserve(p *wire.Path, hdr int, pay [][]byte, pad int, mustCopy bool, s *link.Slot) {
	to := destination{p.Link.(*peer), p.TrafficClass, cmp.Or(p.HopLimit, wire.DefaultHopLimit)}
	if to.single {
		q.box.EndBurst()
	}
	s.ID = uint16(q.box.Reserve(to, hdr, pay, pad, mustCopy, s).Index)
}

// Room counts packets of maximal size. See [link.Queue].
func (q *queue) Room() int { return q.box.Room() }
