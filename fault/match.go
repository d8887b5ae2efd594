package fault

import "github.com/rocinante-rdma/roce/bth"

// Match says which frames a rule is about. The zero Match is about all frames; every
// field set narrows it. Conditions on the packet match only frames that hold at least a
// BTH.
type Match struct {
	From, To string    // names of ends
	Between  [2]string // names of ends, in either direction

	Op     *bth.Opcode
	Has    bth.Flags // the opcode has all of these, such as bth.Last|bth.Send
	Lacks  bth.Flags // the opcode has none of these
	Answer Answer    // what the AETH says
	QPN    uint32    // destination queue pair
	PSN    *bth.PSN
	If     func(*bth.Packet) bool // headers only; must not call the Set or what carries the frames

	// Transmission is 1 for packets sent for the first time, 2 for their first
	// retransmission, and so on. A packet is known again by the ends, QPN, opcode and
	// PSN.
	Transmission int

	// P is the probability with which a frame that fulfils all of the above is
	// matched, 0 as 1. Seed makes it repeat; 0 takes the seed of the Set, and other
	// numbers for each rule.
	P    float64
	Seed uint64

	// Nth is which of the frames that fulfil all of the above is the first to be
	// matched, counted from 1 (0: the first). From there on it is one in Every (0:
	// each), and Count in all (0: one if Nth is set and Every is not, else no limit).
	Nth, Every, Count int
}

// Answer is a kind of AETH by its syndrome (IBTA vol. 1, 9.7.5.2).
type Answer uint8

// Answers.
const (
	AnyAnswer Answer = iota // or none
	Positive                // ACK
	Negative                // NAK other than RNR
	NotReady                // RNR NAK
)

// of reports whether a packet answers so.
func (a Answer) of(p *bth.Packet) bool {
	if a == AnyAnswer {
		return true
	}
	if !p.Opcode.Is(bth.HasAETH) {
		return false
	}
	switch s := p.AETH.Syndrome; a {
	case Positive:
		return s.IsACK()
	case Negative:
		return s.IsNAK()
	default:
		return s.IsRNR()
	}
}

// progress is how far a Match has come.
type progress struct {
	fulfilled int
	sent      map[identity]int // transmissions, if the Match asks for them
}

// identity is by what a retransmission is recognised.
type identity struct {
	from, to string
	qpn      uint32
	op       bth.Opcode
	psn      bth.PSN
}

// matches reports whether the frame is matched, and counts it.
func (r *Rule) matches(c *crossing) bool {
	m := &r.match
	if !m.ends(&c.frame) || !m.packet(c) || !r.transmission(c) || !r.lucky() {
		return false
	}
	r.fulfilled++
	return m.due(r.fulfilled)
}

func (m *Match) ends(f *Frame) bool {
	return (m.From == "" || m.From == f.From) && (m.To == "" || m.To == f.To) &&
		(m.Between == [2]string{} || m.Between == [2]string{f.From, f.To} || m.Between == [2]string{f.To, f.From})
}

// packet checks what the Match says about headers.
func (m *Match) packet(c *crossing) bool {
	if m.Op == nil && m.PSN == nil && m.If == nil && m.QPN == 0 && m.Has|m.Lacks == 0 && m.Answer == AnyAnswer {
		return true
	}
	p, flags := &c.packet, c.packet.Opcode.Flags()
	return c.isPacket &&
		(m.Op == nil || *m.Op == p.Opcode) &&
		flags&m.Has == m.Has && flags&m.Lacks == 0 && m.Answer.of(p) &&
		(m.QPN == 0 || m.QPN == p.DestQP) &&
		(m.PSN == nil || *m.PSN == p.PSN) &&
		(m.If == nil || m.If(p))
}

func (r *Rule) transmission(c *crossing) bool {
	if r.match.Transmission == 0 {
		return true
	}
	if !c.isPacket {
		return false
	}
	if r.sent == nil {
		r.sent = make(map[identity]int)
	}
	id := identity{c.frame.From, c.frame.To, c.packet.DestQP, c.packet.Opcode, c.packet.PSN}
	r.sent[id]++
	return r.sent[id] == r.match.Transmission
}

func (r *Rule) lucky() bool { return r.match.P == 0 || r.dice.Float64() < r.match.P }

// due reports whether the nth frame that fulfils all else is one to be matched.
func (m *Match) due(n int) bool {
	n -= max(m.Nth, 1)
	every, count := max(m.Every, 1), m.Count
	if count == 0 && m.Nth > 0 && m.Every == 0 {
		count = 1
	}
	return n >= 0 && n%every == 0 && (count == 0 || n/every < count)
}
