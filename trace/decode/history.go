package decode

import (
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// history remembers the recent packets of one direction by their PSN.
type history struct {
	byPSN map[bth.PSN]*sighting
	order []bth.PSN // oldest first
}

// maxHistory bounds the memory per direction; a PSN comes back later only if the
// sender had more than that outstanding.
const maxHistory = 8192

// sighting is what is remembered of the packets with one PSN.
type sighting struct {
	newest int // packet number of the newest one
	times  int
	at     time.Time          // of the newest
	id     uint16             // IPv4 identification of the newest
	icrc   [wire.ICRCLen]byte // of the newest
	damage bool               // the newest had a bad ICRC
	late   int                // packet number of the one that overtook it, 0: none
}

func (h *history) find(psn bth.PSN) *sighting { return h.byPSN[psn] }

// add remembers a packet.
func (h *history) add(p *Packet) {
	psn := p.BTH.PSN
	s := h.byPSN[psn]
	if s == nil {
		s = h.insert(psn)
	}
	s.newest, s.at, s.damage = p.Number, p.Time, p.ICRC == ICRCBad
	s.times++
	s.id, s.icrc = p.ID, icrcOf(p)
}

func icrcOf(p *Packet) [wire.ICRCLen]byte {
	return [wire.ICRCLen]byte(p.Frame[len(p.Frame)-wire.ICRCLen:])
}

func (h *history) insert(psn bth.PSN) *sighting {
	if h.byPSN == nil {
		h.byPSN = make(map[bth.PSN]*sighting)
	}
	if len(h.order) == maxHistory {
		delete(h.byPSN, h.order[0])
		h.order = h.order[1:]
	}
	s := new(sighting)
	h.byPSN[psn] = s
	h.order = append(h.order, psn)
	return s
}

// likeness is how a packet relates to an earlier one with its PSN.
type likeness uint8

const (
	again   likeness = iota // sent again by the requester or responder
	copied                  // the same frame twice: the network copied it
	similar                 // the same bytes: one of both, the capture cannot tell
)

// copyTime is the longest that a network's copy is taken to come later.
const copyTime = time.Millisecond

// longestBurst is the number of packets that one segmented send can hold. Such
// senders number each burst from 0, so that small identifications come again.
const longestBurst = 128

// compare tells retransmissions from copies that the network made. The ICRC covers
// the IPv4 identification, which most senders count. Where it tells nothing, the
// sender did it if the peer had asked again or a copy's time is over.
func (s *sighting) compare(p *Packet, asked bool) likeness {
	switch {
	case p.ID != s.id, icrcOf(p) != s.icrc:
		return again
	case p.Src.Is4() && p.ID >= longestBurst:
		return copied
	case asked, p.Time.Sub(s.at) > copyTime:
		return again
	}
	return similar
}
