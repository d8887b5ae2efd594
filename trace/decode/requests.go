package decode

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocinante-rdma/roce/bth"
)

// stream is what was seen on the way to one queue pair: requests of its peer, and
// answers to its own.
type stream struct {
	view
	begun    bool
	start    bth.PSN
	next     bth.PSN // the PSN after the highest request
	run      bth.PSN // the PSN after the newest request: behind next while the sender repeats
	rewound  int     // packet number at which the sender last went back
	requests history
	reads    []read // recent READ requests, newest last
	gap      gap    // the newest one
	asked    int    // packet number of the peer's last NAK or RNR NAK
	notReady ack    // the peer's last RNR NAK
	repeat   int    // packet number of the last retransmission

	answers  history // READ and atomic answers
	readNext bth.PSN // next expected packet of the READ answer under way
	reading  bool
	msn      uint32
	hasMSN   bool
	ack      ack
}

type gap struct {
	from, to bth.PSN // missing: from ≤ PSN < to
	packet   int     // where it was noticed
	at       time.Time
}

func (g *gap) holds(psn bth.PSN) bool {
	return g.packet != 0 && !psn.Before(g.from) && psn.Before(g.to)
}

// read is a READ request. It takes one PSN for each packet of its answer, so the
// path MTU must be known to tell the next request's PSN.
type read struct {
	packet int
	psn    bth.PSN
	length uint32
	count  uint32 // PSNs, 0: the MTU is unknown
}

const (
	maxReads = 256
	minMTU   = 256
	maxMTU   = 4096
	// maxJump is the largest step that counts as loss. A larger one is another
	// connection that uses the queue pair number again.
	maxJump = 1 << 16
)

func newRead(p *Packet, mtu int) read {
	r := read{packet: p.Number, psn: p.BTH.PSN, length: p.BTH.RETH.Len}
	if r.length <= minMTU {
		mtu = minMTU
	}
	if mtu > 0 {
		r.count = packetsOf(r.length, mtu)
	}
	return r
}

// packetsOf is the number of packets of a message; an empty one takes one, too.
func packetsOf(length uint32, mtu int) uint32 {
	return (max(1, length)-1)/uint32(mtu) + 1
}

// after is the earliest PSN that can follow the READ.
func (r read) after() bth.PSN {
	if r.count > 0 {
		return r.psn.Add(r.count)
	}
	return r.psn.Add(packetsOf(r.length, maxMTU))
}

// leadsTo reports whether a request with this PSN can be the next one.
func (r read) leadsTo(psn bth.PSN) bool {
	if r.count > 0 {
		return psn == r.after()
	}
	for mtu := minMTU; mtu <= maxMTU; mtu *= 2 {
		if psn == r.psn.Add(packetsOf(r.length, mtu)) {
			return true
		}
	}
	return false
}

// holds reports whether the READ's answer has a packet with this PSN.
func (r read) holds(psn bth.PSN) bool {
	most := r.count
	if most == 0 {
		most = packetsOf(r.length, minMTU)
	}
	d := psn.Diff(r.psn)
	return d >= 0 && uint32(d) < most
}

// jumpsTo reports whether a PSN is too far from the ones before to belong to them.
func (s *stream) jumpsTo(psn bth.PSN) bool {
	jump := psn.Diff(s.next)
	return s.begun && (jump > maxJump || jump < -maxJump) && s.requests.find(psn) == nil
}

// forget makes the stream a new one.
func (s *stream) forget() { *s = stream{view: s.view} }

// request judges the PSN of a request and remembers it.
func (s *stream) request(p *Packet, mtu int) {
	psn := p.BTH.PSN
	if !s.begun {
		s.begun, s.start, s.next, s.run = true, psn, psn, psn
	}
	stays := false
	if psn.Before(s.next) {
		stays = s.repeated(p)
	}
	if psn.After(s.run) && !s.newestReadLeadsTo(psn) && !stays {
		s.gap = gap{s.run, psn, p.Number, p.Time}
		p.note(NoteGap, missing(s.gap.from, s.gap.to))
	}
	s.requests.add(p)
	if !stays {
		s.advance(p, mtu)
	}
}

func (s *stream) newestReadLeadsTo(psn bth.PSN) bool {
	n := len(s.reads)
	return n > 0 && s.reads[n-1].after() == s.run && s.reads[n-1].leadsTo(psn)
}

// advance moves to the PSN that should come next.
func (s *stream) advance(p *Packet, mtu int) {
	if p.BTH.PSN.Before(s.run) {
		s.rewound = p.Number
	}
	s.run = p.BTH.PSN.Add(1)
	if p.BTH.Opcode.Op() == bth.RCReadRequest {
		r := newRead(p, mtu)
		s.run = r.after()
		if len(s.reads) == maxReads {
			s.reads = s.reads[1:]
		}
		s.reads = append(s.reads, r)
	}
	if s.run.After(s.next) {
		s.next = s.run
	}
}

func missing(from, to bth.PSN) string {
	n := to.Diff(from)
	if n == 1 {
		return fmt.Sprintf("gap: PSN %d is missing before it", from)
	}
	return fmt.Sprintf("gap: PSN %d to %d (%d packets) are missing before it", from, to.Sub(1), n)
}

// repeated explains a request whose PSN lies behind the highest one. stays: the
// network did it, the sender goes on where it was.
func (s *stream) repeated(p *Packet) (stays bool) {
	psn := p.BTH.PSN
	if old := s.requests.find(psn); old != nil {
		s.repeat = p.Number
		return noteRepeat(p, old, s.asked > old.newest) != again
	}
	if s.gap.holds(psn) && s.asked < s.gap.packet && p.Time.Sub(s.gap.at) <= copyTime {
		p.note(NoteReordered, fmt.Sprintf("out of order: belongs before %d", s.gap.packet))
		s.requests.insert(psn).late = s.gap.packet
		return true
	}
	s.repeat = p.Number
	if r, ok := s.readAround(psn); ok && p.BTH.Opcode.Op() == bth.RCReadRequest {
		p.note(NoteRetransmission, fmt.Sprintf("asks again for the rest of the READ in %d", r.packet))
		return false
	}
	p.note(NoteRetransmission, "retransmission; the first one is not in the capture")
	return false
}

// readAround is the newest READ whose answer includes a PSN.
func (s *stream) readAround(psn bth.PSN) (r read, ok bool) {
	for _, r := range slices.Backward(s.reads) {
		if r.holds(psn) {
			return r, true
		}
	}
	return read{}, false
}

// noteRepeat says what kind of repetition a packet is. asked: the peer has asked
// for it since.
func noteRepeat(p *Packet, old *sighting, asked bool) likeness {
	like := old.compare(p, asked)
	switch like {
	case copied:
		p.note(NoteDuplicate, fmt.Sprintf("duplicate of %d: copied by the network, or captured twice", old.newest))
	case similar:
		p.note(NoteRetransmission, fmt.Sprintf("repeats %d: a retransmission, or a copy made by the network", old.newest))
	case again:
		p.note(NoteRetransmission, fmt.Sprintf("retransmission of %d, %v later", old.newest, delay(p, old)))
	}
	return like
}

func delay(p *Packet, old *sighting) time.Duration {
	return p.Time.Sub(old.at).Round(10 * time.Microsecond)
}
