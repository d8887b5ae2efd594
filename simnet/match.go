package simnet

import "github.com/rocinante-rdma/roce/bth"

// Match says which frames a fault is about. The zero Match is about all frames;
// every field set narrows it. Conditions on the packet match only frames that hold
// at least a BTH.
type Match struct {
	From, To string // names of links

	Op    *bth.Opcode
	Has   bth.Flags // the opcode has all of these, such as bth.Last|bth.Send
	Lacks bth.Flags // the opcode has none of these
	QPN   uint32    // destination queue pair
	PSN   *bth.PSN
	If    func(*bth.Packet) bool // headers only; must not call the world

	// Transmission is 1 for packets sent for the first time, 2 for their first
	// retransmission, and so on. A packet is known again by the links, QPN, opcode
	// and PSN.
	Transmission int

	// Nth is which of the frames that fulfil all of the above is the first to be
	// matched, counted from 1 (0: the first), and Count how many from there on are
	// (0: one if Nth is set, else all).
	Nth, Count int
}

// matcher is a Match at work.
type matcher struct {
	Match
	fulfilled int
	sent      map[identity]int // transmissions, if Match asks for them
}

// identity is by what a retransmission is recognised.
type identity struct {
	from, to *Link
	qpn      uint32
	op       bth.Opcode
	psn      bth.PSN
}

// match reports whether the frame is matched, and counts it.
func (m *matcher) match(c *crossing) bool {
	if !m.link(c.frame) || !m.packet(c) || !m.transmission(c) {
		return false
	}
	m.fulfilled++
	first := max(m.Nth, 1)
	count := m.Count
	if count == 0 && m.Nth > 0 {
		count = 1
	}
	return m.fulfilled >= first && (count == 0 || m.fulfilled < first+count)
}

func (m *matcher) link(f *frame) bool {
	return (m.From == "" || m.From == f.from.name) && (m.To == "" || m.To == f.to.name)
}

// packet checks what the Match says about headers.
func (m *matcher) packet(c *crossing) bool {
	if m.Op == nil && m.PSN == nil && m.If == nil && m.QPN == 0 && m.Has|m.Lacks == 0 {
		return true
	}
	p, flags := &c.packet, c.packet.Opcode.Flags()
	return c.isPacket &&
		(m.Op == nil || *m.Op == p.Opcode) &&
		flags&m.Has == m.Has && flags&m.Lacks == 0 &&
		(m.QPN == 0 || m.QPN == p.DestQP) &&
		(m.PSN == nil || *m.PSN == p.PSN) &&
		(m.If == nil || m.If(p))
}

func (m *matcher) transmission(c *crossing) bool {
	if m.Transmission == 0 {
		return true
	}
	if !c.isPacket {
		return false
	}
	if m.sent == nil {
		m.sent = make(map[identity]int)
	}
	id := identity{c.frame.from, c.frame.to, c.packet.DestQP, c.packet.Opcode, c.packet.PSN}
	m.sent[id]++
	return m.sent[id] == m.Transmission
}
