package decode

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
	"github.com/rocinante-rdma/roce/wire"
)

// Filter chooses packets. Every condition that is set must hold; the zero Filter
// takes all. Connections are followed through all packets of a capture, whatever
// the filter takes.
type Filter struct {
	QPs      []uint32     // sent by or to one of them
	PSNs     PSNRange     // in it
	Ops      []Op         // one of them
	Hosts    []netip.Addr // sent by or to one of them
	Trouble  bool         // with a note of trouble
	From, To int          // packet numbers, inclusive; 0: no bound
}

// Takes reports whether the filter takes an annotated packet.
func (f *Filter) Takes(p *Packet) bool {
	return f.takesNumber(p.Number) && f.takesQP(p) && f.takesHost(p) && f.PSNs.takes(p) &&
		f.takesOp(p) && (!f.Trouble || p.Trouble())
}

func (f *Filter) takesNumber(n int) bool { return n >= f.From && (f.To == 0 || n <= f.To) }

func (f *Filter) takesQP(p *Packet) bool {
	if len(f.QPs) == 0 {
		return true
	}
	return p.hasBTH() && slices.Contains(f.QPs, p.BTH.DestQP) ||
		p.SrcQP.Known && slices.Contains(f.QPs, p.SrcQP.N)
}

func (f *Filter) takesHost(p *Packet) bool {
	return len(f.Hosts) == 0 || slices.Contains(f.Hosts, p.Src) || slices.Contains(f.Hosts, p.Dst)
}

func (f *Filter) takesOp(p *Packet) bool {
	return len(f.Ops) == 0 || slices.ContainsFunc(f.Ops, func(op Op) bool { return op.takes(p) })
}

// ParseQPN reads a queue pair number, decimal or 0x hexadecimal.
func ParseQPN(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 0, 24)
	if err != nil {
		return 0, fmt.Errorf("%q is no queue pair number; give 24 bits such as 17 or 0x11", s)
	}
	return uint32(n), nil
}

// PSNRange is a circular range of PSNs, both ends included. The zero value takes
// all packets.
type PSNRange struct {
	set         bool
	first, last bth.PSN
}

// ParsePSNRange reads "A" or "A-B"; B before A runs through the wrap at 2^24.
func ParsePSNRange(s string) (PSNRange, error) {
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.ParseUint(from, 0, 24)
	last, err2 := strconv.ParseUint(to, 0, 24)
	if err1 != nil || err2 != nil {
		return PSNRange{}, fmt.Errorf("%q is no PSN or range of PSNs; give 24-bit numbers such as 100 or 100-0x80", s)
	}
	return PSNRange{true, bth.PSN(first), bth.PSN(last)}, nil
}

func (r PSNRange) takes(p *Packet) bool {
	if !r.set {
		return true
	}
	return p.hasBTH() && p.BTH.PSN.Sub(uint32(r.first)) <= r.last.Sub(uint32(r.first))
}

// Op is a kind of packet to choose by.
type Op struct {
	Name  string
	takes func(*Packet) bool
}

// Ops are the kinds there are.
var Ops = []Op{
	{"send", is(bth.Send)},
	{"write", is(bth.Write)},
	{"read", is(bth.Read)},
	{"atomic", is(bth.Atomic)},
	{"ack", func(p *Packet) bool { return is(bth.Ack)(p) && p.BTH.AETH.Syndrome.IsACK() }},
	{"nak", func(p *Packet) bool { return is(bth.HasAETH)(p) && p.BTH.AETH.Syndrome.IsNAK() }},
	{"rnr", func(p *Packet) bool { return is(bth.HasAETH)(p) && p.BTH.AETH.Syndrome.IsRNR() }},
	{"cnp", func(p *Packet) bool { return p.hasBTH() && p.BTH.Opcode == bth.CNP }},
	{"ce", func(p *Packet) bool { return wire.ECNOf(p.TrafficClass) == wire.CE }},
	{"cm", func(p *Packet) bool { return p.hasBTH() && p.BTH.DestQP == mad.QPN }},
}

func is(f bth.Flags) func(*Packet) bool {
	return func(p *Packet) bool { return p.Err == nil && p.BTH.Opcode.Is(f) }
}

// ParseOp finds a kind by its name.
func ParseOp(name string) (Op, error) {
	i := slices.IndexFunc(Ops, func(o Op) bool { return o.Name == name })
	if i < 0 {
		return Op{}, fmt.Errorf("%q is no kind of packet; there are %s", name, OpNames())
	}
	return Ops[i], nil
}

// OpNames lists the kinds.
func OpNames() string {
	var names []string
	for _, o := range Ops {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}
