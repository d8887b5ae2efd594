package decode

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Summary is what a whole capture amounts to.
type Summary struct {
	Start       time.Time // of the first record
	Records     int
	Foreign     int // records of a link type that cannot be read
	Packets     int // RoCEv2 packets
	Shown       int // of which the filter took
	ICRC        map[ICRC]int
	Notes       map[NoteKind]int // of those shown
	Lost        map[int]bool     // numbers of packets that a NAK shows to have been lost
	Congestion  Congestion
	Connections []Connection
}

func newSummary() *Summary {
	return &Summary{ICRC: make(map[ICRC]int), Notes: make(map[NoteKind]int)}
}

// show counts a packet that the filter took.
func (s *Summary) show(p *Packet) {
	s.Shown++
	for _, n := range p.Notes {
		s.Notes[n.Kind]++
	}
}

// write says it in words.
func (s *Summary) write(w io.Writer) error {
	var b strings.Builder
	if s.Packets == 0 {
		s.explainNothing(&b)
	} else {
		fmt.Fprintf(&b, "%s, %d of them RoCEv2, %d shown. ICRC: %s.\n",
			count(s.Records, "frame"), s.Packets, s.Shown, s.icrcWords())
		s.noteWords(&b)
		s.congestionWords(&b)
		s.connectionWords(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Summary) explainNothing(b *strings.Builder) {
	fmt.Fprintf(b, "No RoCEv2 packet (UDP port 4791) among %s.\n", count(s.Records, "frame"))
	if s.Foreign > 0 {
		fmt.Fprintf(b, "%s of a link type that roci cannot read: record Ethernet, raw IP or Linux cooked frames.\n", count(s.Foreign, "frame"))
		return
	}
	b.WriteString("RDMA hardware hides its packets from the host's tcpdump: record at a switch's mirror port, or through the RDMA device.\n")
}

func (s *Summary) icrcWords() string {
	var words []string
	for _, i := range sorted(s.ICRC) {
		words = append(words, fmt.Sprintf("%d %s", s.ICRC[i], i))
	}
	return strings.Join(words, ", ")
}

func (s *Summary) noteWords(b *strings.Builder) {
	if len(s.Notes) == 0 {
		return
	}
	var words []string
	for _, k := range sorted(s.Notes) {
		words = append(words, fmt.Sprintf("%s ×%d", k, s.Notes[k]))
	}
	fmt.Fprintf(b, "Noted: %s.\n", strings.Join(words, ", "))
}

// congestionWords are of the whole capture, whatever the filter took.
func (s *Summary) congestionWords(b *strings.Builder) {
	c := s.Congestion
	if c.Marked == 0 && c.CNPs == 0 {
		return
	}
	fmt.Fprintf(b, "Congestion: %s marked CE, %s", count(c.Marked, "packet"), count(c.CNPs, "CNP"))
	if c.MinGap > 0 {
		fmt.Fprintf(b, ", of one flow at least %v apart", c.MinGap)
	}
	b.WriteString(".\n")
}

func (s *Summary) connectionWords(b *strings.Builder) {
	for _, c := range s.Connections {
		fmt.Fprintf(b, "%s  %s ↔ %s, %s", c.Service, c.A, c.B, count(c.Packets, "packet"))
		if c.MTU > 0 {
			fmt.Fprintf(b, ", path MTU %d", c.MTU)
		}
		b.WriteByte('\n')
	}
}

func sorted[K cmp.Ordered](m map[K]int) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// String names the queue pair and its address.
func (e Endpoint) String() string { return e.Addr.String() + " QP " + e.QP.String() }

// String prints the number in hexadecimal, "?" if it is unknown.
func (q QPN) String() string {
	if !q.Known {
		return "?"
	}
	return fmt.Sprintf("0x%x", q.N)
}

// From is the packet's sender.
func (p *Packet) From() Endpoint { return Endpoint{p.Src, p.SrcQP} }

// To is the packet's destination.
func (p *Packet) To() Endpoint {
	return Endpoint{p.Dst, QPN{p.BTH.DestQP, p.hasBTH()}}
}
