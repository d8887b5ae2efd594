package trace

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
)

// Ladder is a sink that draws the recording as a ladder when it is closed: see
// [WriteLadder]. A packet that one device sent and another received is one row
// with the words of both; one that was sent to a recorded device and not received
// there, up to the end of the recording, ends in ✗. Peers that are not recorded
// are columns with their address. Devices should have different names.
//
// It keeps the newest 5,000 to 10,000 packets.
type Ladder struct {
	w       io.Writer
	options LadderOptions

	packets  []*passage
	onTheWay map[flight][]*passage // sent, not yet received; oldest first
	early    map[flight][]*passage // received, but the sender's event is not here yet
	home     map[netip.Addr]int    // device of an address
	qps      [][]uint32            // device: its QPs, as far as needed to tell one from many
	dropped  int                   // packets no longer kept
}

const maxPassages = 10000

// NewLadder returns a sink that draws to w.
func NewLadder(w io.Writer, o LadderOptions) *Ladder {
	return &Ladder{
		w: w, options: o,
		onTheWay: make(map[flight][]*passage),
		early:    make(map[flight][]*passage),
		home:     make(map[netip.Addr]int),
	}
}

// passage is one packet on its way, as far as devices told of it.
type passage struct {
	time             clock.Time
	from, to         netip.Addr
	sender, receiver int // device, or nobody
	label, run       string
	sent, received   statement
}

const nobody = -1

// statement is what a device says of a packet.
type statement struct {
	at    clock.Time
	qpn   uint32
	words string
}

// flight is what is the same for a packet at both ends. Repeated packets share it.
type flight struct {
	from, to netip.Addr
	opcode   bth.Opcode
	qpn      uint32
	psn      bth.PSN
}

// Device implements [Sink].
func (l *Ladder) Device(string) error {
	l.qps = append(l.qps, nil)
	return nil
}

// Flush implements [Sink].
func (l *Ladder) Flush() error { return nil }

// Packet implements [Sink].
func (l *Ladder) Packet(r *Record) error {
	l.learn(r)
	if r.Lost != 0 {
		l.keep(&passage{time: r.Time, sender: r.Device, receiver: r.Device, label: missing(r.Lost)})
	}
	f := flight{r.Src, r.Dst, r.Packet.Opcode, r.Packet.DestQP, r.Packet.PSN}
	if r.Dir == Out {
		l.out(f, r)
	} else {
		l.in(f, r)
	}
	return nil
}

// learn notes the device's address and QP.
func (l *Ladder) learn(r *Record) {
	own := r.Dst
	if r.Dir == Out {
		own = r.Src
	}
	l.home[own] = r.Device
	if q := &l.qps[r.Device]; r.QPN != 0 && len(*q) < 2 && !slices.Contains(*q, r.QPN) {
		*q = append(*q, r.QPN)
	}
}

// out takes what a sender says. The receiver's goroutine may have been faster.
func (l *Ladder) out(f flight, r *Record) {
	p := take(l.early, f, func(p *passage) bool { return p.received.at >= r.Time })
	if p == nil {
		p = l.keep(newPassage(r))
		l.onTheWay[f] = append(l.onTheWay[f], p)
	}
	p.time, p.sender, p.label, p.sent = r.Time, r.Device, r.Label(), statementOf(r)
}

// in takes what a receiver says.
func (l *Ladder) in(f flight, r *Record) {
	p := take(l.onTheWay, f, func(p *passage) bool { return p.sent.at <= r.Time })
	if p == nil {
		p = l.keep(newPassage(r))
		l.early[f] = append(l.early[f], p)
	}
	p.receiver, p.received = r.Device, statementOf(r)
}

// take removes the newest fitting passage: of a packet and its repetition, the
// earlier one is the one that got lost.
func take(m map[flight][]*passage, f flight, fits func(*passage) bool) *passage {
	list := m[f]
	for i, p := range slices.Backward(list) {
		if !fits(p) {
			continue
		}
		if m[f] = slices.Delete(list, i, i+1); len(m[f]) == 0 {
			delete(m, f)
		}
		return p
	}
	return nil
}

func newPassage(r *Record) *passage {
	p := &passage{
		time: r.Time, sender: nobody, receiver: nobody,
		from: r.Src, to: r.Dst, label: r.Label(),
	}
	if r.Packet.Opcode.Is(bth.Middle) {
		p.run = opcodeName(r.Packet.Opcode)
	}
	return p
}

// statementOf leaves out the packet's own PSN, which the label has.
func statementOf(r *Record) statement {
	own := fmt.Sprintf(" (PSN %d)", r.Packet.PSN)
	return statement{r.Time, r.QPN, strings.Replace(r.reason(), own, "", 1)}
}

// keep appends a passage and forgets the older half when there are too many.
func (l *Ladder) keep(p *passage) *passage {
	if len(l.packets) == maxPassages {
		l.packets = slices.Delete(l.packets, 0, maxPassages/2)
		l.dropped += maxPassages / 2
		clear(l.onTheWay)
		clear(l.early)
	}
	l.packets = append(l.packets, p)
	return p
}

// Close implements [Sink]: it draws.
func (l *Ladder) Close(s Stats) error {
	slices.SortStableFunc(l.packets, func(a, b *passage) int { return cmp.Compare(a.time, b.time) })
	c := newColumns(l, s)
	rows := make([]Row, len(l.packets))
	for i, p := range l.packets {
		rows[i] = c.row(p)
	}
	if l.dropped > 0 {
		if _, err := fmt.Fprintf(l.w, "… %d earlier packets are not drawn\n", l.dropped); err != nil {
			return ladderError(err)
		}
	}
	return WriteLadder(l.w, c.names(), rows, l.options)
}
