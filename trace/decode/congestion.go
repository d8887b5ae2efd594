package decode

import (
	"fmt"
	"time"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// Congestion is what a whole capture tells of congestion control. What was captured at
// two points counts twice.
type Congestion struct {
	Marked int           // packets marked CE
	CNPs   int           // congestion notifications
	MinGap time.Duration // least time between two CNPs of one flow, 0 if no flow has two
}

// shortestInterval is the least time between the CNPs of a flow that senders are known
// to be set to: the default of ConnectX adapters, min_time_between_cnps. The DCQCN paper
// has 50 µs.
const shortestInterval = 4 * time.Microsecond

// flow is the data that one queue pair sends, and what is said of it: the marks on the
// way out and the CNPs on the way back.
type flow struct {
	marked int       // packet number of the newest marked packet, 0: none
	at     time.Time // of the newest marked packet
	marks  int       // since the newest CNP
	cnps   int
	last   time.Time // of the newest CNP
}

// sender names a flow by the way back to its sender, as CNPs name it.
type sender struct {
	point int
	hosts
	qp QPN
}

// congestion follows the marks and notifications of all flows.
type congestion struct {
	Congestion
	flows map[sender]*flow
}

// maxFlows bounds the memory; flows beyond it are not followed.
const maxFlows = maxHalves

func newCongestion() *congestion { return &congestion{flows: make(map[sender]*flow)} }

// follow notes marks and CNPs. A damaged CNP proves nothing, whereas a mark is in the IP
// header, which the ICRC does not cover.
func (c *congestion) follow(p *Packet) {
	if wire.ECNOf(p.TrafficClass) == wire.CE {
		c.mark(p)
	}
	if p.hasBTH() && p.BTH.Opcode == bth.CNP {
		c.CNPs++
		if p.Err == nil && p.ICRC != ICRCBad {
			c.notification(p)
			noteShape(p)
		}
	}
}

// mark notes a marked packet. Only data has a sender that could slow down.
func (c *congestion) mark(p *Packet) {
	c.Marked++
	const marked = "marked CE: a switch on the way was congested"
	switch {
	case p.Err != nil:
		p.note(NoteMarked, marked)
	case p.BTH.Opcode == bth.CNP:
		p.note(NoteMarked, marked+"; a CNP is not answered with another")
	case p.BTH.Opcode.Is(bth.Ack):
		p.note(NoteMarked, marked+"; an acknowledgement is not answered with a CNP")
	default:
		p.note(NoteMarked, marked)
		if f := c.flow(sender{p.Point, p.hosts().back(), p.SrcQP}); f != nil {
			f.marked, f.at = p.Number, p.Time
			f.marks++
		}
	}
}

// notification notes which flow a CNP slows down, and which mark it answers.
func (c *congestion) notification(p *Packet) {
	f := c.flow(sender{p.Point, p.hosts(), QPN{p.BTH.DestQP, true}})
	if f == nil {
		return
	}
	marks := c.marksOf(p, f)
	p.note(NoteCNP, fmt.Sprintf("QP 0x%x of %v is to send more slowly: %s", p.BTH.DestQP, p.Dst, marks.words(p)))
	marks.marks = 0
	if f.cnps > 0 {
		c.judgeGap(p, p.Time.Sub(f.last))
	}
	f.cnps++
	f.last = p.Time
}

// marksOf is where the marks of a flow are kept: if the capture does not tell the number
// of its queue pair, with all such flows of its host.
func (c *congestion) marksOf(p *Packet, f *flow) *flow {
	if f.marked == 0 {
		if all := c.flows[sender{p.Point, p.hosts(), QPN{}}]; all != nil {
			return all
		}
	}
	return f
}

// words tell which mark a CNP answers. Before the congested switch there is none to be seen.
func (f *flow) words(cnp *Packet) string {
	switch {
	case f.marked == 0:
		return "its packets are not marked where this was captured"
	case f.marks == 0:
		return "none of its packets has been marked since the CNP before"
	case f.marks == 1:
		return fmt.Sprintf("packet %d was marked, %v before", f.marked, cnp.Time.Sub(f.at))
	}
	return fmt.Sprintf("packet %d was marked, %v before, the last of %d", f.marked, cnp.Time.Sub(f.at), f.marks)
}

// judgeGap finds CNPs of a flow that follow each other faster than any known sender's.
func (c *congestion) judgeGap(p *Packet, gap time.Duration) {
	if gap <= 0 {
		return // the clock stood still: nothing is known
	}
	if c.MinGap == 0 || gap < c.MinGap {
		c.MinGap = gap
	}
	if gap < shortestInterval {
		p.note(NoteCNPTooSoon, fmt.Sprintf("only %v after the flow's CNP before: ConnectX adapters leave %v by default", gap, shortestInterval))
	}
}

func (c *congestion) flow(s sender) *flow {
	f := c.flows[s]
	if f == nil && len(c.flows) < maxFlows {
		f = new(flow)
		c.flows[s] = f
	}
	return f
}
