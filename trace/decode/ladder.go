package decode

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cm/mad"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

// ladder keeps the packets and draws them when it is closed.
type ladder struct {
	w       io.Writer
	packets []*Packet
	arrived map[*Packet]*Packet // the same packet at the next capture point
	flying  map[flight]*Packet  // sent, not seen at another point yet
	left    int                 // packets beyond maxRows
}

// flight is what is the same for a packet at every capture point.
type flight struct {
	hosts
	icrc [wire.ICRCLen]byte
	size int
}

// maxRows bounds the ladder: nobody reads a longer one.
const maxRows = 10000

func newLadder(w io.Writer, _ *Summary) printer {
	return &ladder{w: w, arrived: make(map[*Packet]*Packet), flying: make(map[flight]*Packet)}
}

func (l *ladder) packet(p *Packet) error {
	switch {
	case len(l.packets) == maxRows:
		l.left++
	case !l.arrives(p):
		l.packets = append(l.packets, p)
	}
	return nil
}

// arrives reports whether the packet was already seen at another capture point. The
// two are one arrow.
func (l *ladder) arrives(p *Packet) bool {
	if p.ICRC != ICRCGood && p.ICRC != ICRCBad {
		return false // without an ICRC nothing identifies it
	}
	f := flight{p.hosts(), icrcOf(p), len(p.Frame)}
	if sent := l.flying[f]; sent != nil && sent.Point != p.Point {
		l.arrived[sent] = p
		delete(l.flying, f)
		return true
	}
	l.flying[f] = p
	return false
}

func (l *ladder) close(s *Summary) error {
	if len(l.packets) > 0 {
		if err := l.draw(s); err != nil {
			return err
		}
	}
	if l.left > 0 {
		fmt.Fprintf(l.w, "%d more packets are not drawn; choose with a filter, such as --from.\n", l.left)
	}
	return s.write(l.w)
}

func (l *ladder) draw(s *Summary) error {
	cols := chooseColumns(l.packets)
	var rows []trace.Row
	for _, p := range l.packets {
		row := cols.row(p, l.arrived[p], clock.Time(p.Time.Sub(s.Start)))
		row.Lost = s.Lost[p.Number] || p.ICRC == ICRCBad || p.Err != nil
		rows = append(rows, row)
	}
	if err := trace.WriteLadder(l.w, cols.names, rows, trace.LadderOptions{}); err != nil {
		return err
	}
	_, err := fmt.Fprintln(l.w)
	return err
}

// columns are hosts, each named with its queue pair if it has only one. If a host
// talks to itself, its queue pairs are columns of their own.
type columns struct {
	names  []string
	byHost bool
	qps    map[netip.Addr][]QPN // known ones by host; the management queue pair does not count
}

func chooseColumns(packets []*Packet) *columns {
	c := &columns{byHost: true, qps: make(map[netip.Addr][]QPN)}
	for _, p := range packets {
		c.addQP(p.From())
		c.addQP(p.To())
		c.byHost = c.byHost && p.Src != p.Dst
	}
	for _, p := range packets {
		c.addName(c.name(p.From()))
		c.addName(c.name(p.To()))
	}
	return c
}

func (c *columns) addQP(e Endpoint) {
	qps := c.qps[e.Addr]
	if !e.QP.Known || e.QP.N == mad.QPN || slices.Contains(qps, e.QP) {
		return
	}
	c.qps[e.Addr] = append(qps, e.QP)
}

func (c *columns) addName(name string) {
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
}

// name is the column of an endpoint.
func (c *columns) name(e Endpoint) string {
	qps := c.qps[e.Addr]
	switch {
	case !c.byHost:
		return e.String()
	case len(qps) == 1:
		return Endpoint{e.Addr, qps[0]}.String()
	}
	return e.Addr.String()
}

// row draws a packet, and its arrival if that was captured, too.
func (c *columns) row(p, arrival *Packet, t clock.Time) trace.Row {
	sent, received := p.ladderWords()
	if arrival != nil {
		atSender, atReceiver := arrival.ladderWords()
		received = append(received, append(atReceiver, atSender...)...)
	}
	r := trace.Row{
		Time: t, From: c.name(p.From()), To: c.name(p.To()), Label: c.label(p),
		Note: strings.Join(sent, "\n"), Received: strings.Join(received, "\n"),
	}
	if p.BTH.Opcode.Is(bth.Middle) {
		r.Run = "Middle packets"
	}
	return r
}

// ladderWords are the comment and the notes, by the side they belong to.
func (p *Packet) ladderWords() (sender, receiver []string) {
	if p.Comment != "" {
		sender = append(sender, "» "+p.Comment)
	}
	for _, n := range p.Notes {
		if n.Kind.atReceiver() {
			receiver = append(receiver, n.Text)
		} else {
			sender = append(sender, n.Text)
		}
	}
	return sender, receiver
}

// label begins with the packet's number, which notes refer to, and names the queue
// pairs if the columns do not.
func (c *columns) label(p *Packet) string {
	if len(c.qps[p.Src]) > 1 || len(c.qps[p.Dst]) > 1 {
		return fmt.Sprintf("%d: QP %s→%s %s", p.Number, p.SrcQP, p.To().QP, p.Label())
	}
	return fmt.Sprintf("%d: %s", p.Number, p.Label())
}

// atReceiver reports whether a note tells what the receiver finds, rather than what
// the sender does.
func (k NoteKind) atReceiver() bool {
	switch k {
	case NoteGap, NoteReordered, NoteBroken, NoteBadICRC, NoteICRCUnknown, NoteMarked:
		return true
	default:
		return false
	}
}
