package rc

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
)

// A request that comes before its turn is held until those before it have come, and
// then goes through all checks as if it came only now. Nothing of it is looked at, let
// alone placed, earlier. The peer sees a responder that acknowledges more at once than
// was sent again, which it may always do (9.7.5.1.2).

const (
	// reorderReach is how many PSNs behind the expected one, or behind what is held
	// already, a request may be to be held. Losses that long are rare, and a longer reach
	// is room for ghosts and forgeries: who does not see the connection guesses a PSN.
	reorderReach = 256
	// reorderSearch is after how many held ones the search for a packet's place among
	// them is given up, so that a hostile order costs little.
	reorderSearch = 64
)

// reorderBuffer is the requests that a queue pair holds, in the order of their PSNs.
type reorderBuffer struct {
	pool        *ReorderPool // nil: nothing is held
	first, last *heldPacket
	near        *heldPacket // where the newest one was put, if that is held still
	bytes       int         // taken from the pool
}

// early takes a request behind a gap (9.7.4.1.2, 9.7.5.2.1). The gap is reported once,
// until the missing one comes.
func (m *Machine) early(p *bth.Packet) transport.Verdict {
	v := transport.Verdict{Action: transport.Held, Rule: m.hold(p), PSN: m.expected}
	if v.Rule != transport.RuleHeld {
		v.Action = transport.Dropped
	}
	if !m.gapReported {
		m.reportGap()
		if v.Action == transport.Dropped {
			v.Action = transport.Refused
		}
		v.Rule = transport.RuleGap
	}
	return v
}

// reportGap owes the peer a NAK for the expected request.
func (m *Machine) reportGap() {
	m.gapReported = true
	m.nak = pendingNAK{bth.NAKSequence, m.expected, transport.CauseNAKSequence}
	m.stats.Gaps++
}

// hold keeps a copy of a request until its turn; another rule than RuleHeld says why
// it does not.
func (m *Machine) hold(p *bth.Packet) transport.Rule {
	r := &m.reorder
	n := p.PayloadLen()
	if r.pool == nil || !p.Opcode.Is(bth.Send|bth.Write|bth.Read|bth.Atomic) || n > m.attr.PathMTU {
		return transport.RuleGapAgain
	}
	if p.PSN.Diff(m.furthest()) > reorderReach {
		return transport.RuleGapAgain
	}
	before, rule := r.place(p.PSN)
	if rule != transport.RuleHeld {
		return rule
	}
	if m.overfull {
		return transport.RuleNoRoom
	}
	h := r.pool.take(n, r.bytes)
	if h == nil {
		m.overfull = true
		return transport.RuleNoRoom
	}
	h.Packet = *p
	h.Payload = [2][]byte{h.payload[:n]}
	copy(h.payload[copy(h.payload, p.Payload[0]):], p.Payload[1])
	r.insert(before, h)
	return transport.RuleHeld
}

// furthest is the PSN that requests are known to have got to: a READ among those held
// takes as many as its answer.
func (m *Machine) furthest() bth.PSN {
	last := m.reorder.last
	switch {
	case last == nil:
		return m.expected
	case last.Opcode.Is(bth.Read):
		return last.PSN.Add(packets(last.RETH.Len, m.attr.PathMTU) - 1)
	}
	return last.PSN
}

// place finds the held packet that one of this PSN comes behind, nil if it is the
// first. Packets mostly come in order, so the search begins where the newest was put.
func (r *reorderBuffer) place(psn bth.PSN) (*heldPacket, transport.Rule) {
	if r.first == nil || psn.Before(r.first.PSN) {
		return nil, transport.RuleHeld
	}
	at := r.first
	switch {
	case !psn.Before(r.last.PSN):
		at = r.last
	case r.near != nil && !psn.Before(r.near.PSN):
		at = r.near
	}
	for range reorderSearch {
		switch {
		case psn == at.PSN:
			r.near = at
			return nil, transport.RuleHeldAgain
		case at.next == nil || psn.Before(at.next.PSN):
			return at, transport.RuleHeld
		}
		at = at.next
	}
	return nil, transport.RuleGapAgain
}

// insert puts a packet behind another one, or first.
func (r *reorderBuffer) insert(before, h *heldPacket) {
	if before == nil {
		h.next, r.first = r.first, h
	} else {
		h.next, before.next = before.next, h
	}
	if h.next == nil {
		r.last = h
	}
	r.near = h
	r.bytes += h.size()
}

// drop gives the first packet back to the pool.
func (r *reorderBuffer) drop() {
	h := r.first
	r.first = h.next
	if r.first == nil {
		r.last = nil
	}
	if r.near == h {
		r.near = nil
	}
	r.bytes -= h.size()
	r.pool.give(h)
}

// clear gives everything back.
func (r *reorderBuffer) clear() {
	for r.first != nil {
		r.drop()
	}
}

// resume goes on with what was held behind the request just executed, whose verdict is
// v, up to the next gap. That is reported when a request comes that does not fill it: a
// peer that sends a long gap again would begin anew at each of its packets. A held
// request that is refused ends it with its own verdict: if the peer may try again the
// others wait on.
func (m *Machine) resume(v transport.Verdict) transport.Verdict {
	v.Rule = transport.RuleFilled
	r := &m.reorder
	for r.first != nil && !r.first.PSN.After(m.expected) {
		if r.first.PSN.Before(m.expected) {
			r.drop() // it came again, or lies inside a READ's answer
			continue
		}
		held := m.judge(&r.first.Packet)
		if held.Action != transport.Executed {
			held.Behind = v.Behind
			return held
		}
		v.Behind++
	}
	return v
}
