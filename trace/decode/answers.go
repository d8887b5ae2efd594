package decode

import (
	"fmt"

	"github.com/rocinante-rdma/roce/bth"
)

// ack is the last acknowledgement of a stream.
type ack struct {
	packet   int
	psn      bth.PSN
	syndrome bth.Syndrome
	msn      uint32
}

// response judges an answer and remembers it. asks is the stream of requests that
// it belongs to, nil if unknown.
func (s *stream) response(p *Packet, asks *stream, a *Annotator) {
	if p.ICRC == ICRCBad {
		return
	}
	if p.BTH.Opcode.Is(bth.HasAETH) {
		s.countMessages(p)
		if asks != nil {
			a.explain(p, asks)
		}
	}
	if p.BTH.Opcode.Is(bth.Ack) {
		s.acknowledge(p)
		return
	}
	if old := s.answers.find(p.BTH.PSN); old != nil {
		noteRepeat(p, old, asks != nil && asks.repeat > old.newest)
	} else {
		s.readOrder(p)
	}
	s.answers.add(p)
	s.reading = p.BTH.Opcode.Is(bth.Read) && !p.BTH.Opcode.Is(bth.Last)
	s.readNext = p.BTH.PSN.Add(1)
}

// countMessages watches the MSN, the number of messages that the responder has
// completed: it never falls (IBTA vol. 1, 9.7.7.1).
func (s *stream) countMessages(p *Packet) {
	step := bth.PSN(p.BTH.AETH.MSN).Diff(bth.PSN(s.msn)) // 24 bits, like a PSN
	switch {
	case !s.hasMSN:
	case step < 0:
		p.note(NoteMSN, fmt.Sprintf("MSN falls from %d: out of order, or another connection", s.msn))
	case step > 1 && p.BTH.AETH.Syndrome.IsACK():
		p.note(NoteCoalesced, fmt.Sprintf("completes %d messages at once", step))
	}
	s.msn, s.hasMSN = p.BTH.AETH.MSN, true
}

func (s *stream) acknowledge(p *Packet) {
	now := ack{p.Number, p.BTH.PSN, p.BTH.AETH.Syndrome, p.BTH.AETH.MSN}
	last := s.ack
	if last.packet != 0 && now.syndrome.IsACK() && now.psn == last.psn && now.syndrome == last.syndrome && now.msn == last.msn {
		p.note(NoteRetransmission, fmt.Sprintf("acknowledges again, like %d", last.packet))
	}
	s.ack = now
}

// readOrder notes packets that are missing in the middle of a READ's answer.
func (s *stream) readOrder(p *Packet) {
	if !s.reading || p.BTH.Opcode.Is(bth.First) || !p.BTH.PSN.After(s.readNext) {
		return
	}
	p.note(NoteGap, missing(s.readNext, p.BTH.PSN))
}

// explain says what a negative acknowledgement means and what caused it.
func (a *Annotator) explain(p *Packet, asks *stream) {
	syndrome, psn := p.BTH.AETH.Syndrome, p.BTH.PSN
	switch {
	case syndrome.IsRNR():
		asks.asked, asks.notReady = p.Number, ack{packet: p.Number, psn: psn}
		p.note(NoteRNR, "no receive is posted"+asks.comesAgain(psn))
	case syndrome == bth.NAKSequence:
		asks.asked = p.Number
		p.note(NoteNAK, "asks for PSN "+psn.String()+" again: "+a.cause(p, asks))
	case syndrome.IsNAK():
		p.note(NoteNAK, "fatal: the connection ends here"+asks.culprit(psn))
	}
}

func (s *stream) comesAgain(psn bth.PSN) string {
	if old := s.requests.find(psn); old != nil {
		return fmt.Sprintf(": %d is to be sent again after the wait", old.newest)
	}
	return ""
}

func (s *stream) culprit(psn bth.PSN) string {
	if old := s.requests.find(psn); old != nil {
		return fmt.Sprintf(", because of %d", old.newest)
	}
	return ""
}

// cause finds out why the responder misses a PSN, as far as the capture shows it.
func (a *Annotator) cause(p *Packet, asks *stream) string {
	psn := p.BTH.PSN
	old := asks.requests.find(psn)
	switch {
	case old == nil:
		return a.strayed(psn, asks)
	case asks.notReady.psn == psn && asks.notReady.packet > old.newest:
		return fmt.Sprintf("%d was turned away by the RNR NAK in %d", old.newest, asks.notReady.packet)
	case old.damage:
		return fmt.Sprintf("%d was damaged (bad ICRC)", old.newest)
	case old.late != 0 && old.times == 1:
		return fmt.Sprintf("%d came out of order, after %d", old.newest, old.late)
	case old.newest < asks.rewound:
		return "its retransmission got lost before the capture point"
	}
	a.lost[old.newest] = true
	return fmt.Sprintf("%d passed the capture point and got lost behind it", old.newest)
}

// strayed looks for a PSN that is missing in a stream among the packets to queue
// pairs that answer nobody: a wrong destination QP.
func (a *Annotator) strayed(psn bth.PSN, asks *stream) string {
	var found *sighting
	var qpn uint32
	for v, s := range a.streams {
		if v.point != asks.point || v.hosts != asks.hosts || v == asks.view || a.pairs.peer(v.route).Known {
			continue
		}
		if old := s.requests.find(psn); old != nil && (found == nil || old.newest > found.newest) {
			found, qpn = old, v.qpn
		}
	}
	if found == nil {
		return "it got lost before the capture point"
	}
	return fmt.Sprintf("%d carried it to another queue pair, 0x%x", found.newest, qpn)
}
