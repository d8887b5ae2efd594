package decode

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// list prints one line per packet, and its comment below.
type list struct {
	w     *bufio.Writer
	s     *Summary
	ends  int // width of "from → to"
	begun bool
}

func newList(w io.Writer, s *Summary) printer {
	l := &list{w: bufio.NewWriter(w), s: s, ends: minEnds}
	for _, c := range s.Connections {
		l.ends = max(l.ends, width(arrow(c.A, c.B)))
	}
	return l
}

const (
	minEnds  = len("10.10.0.2 QP 0x1 -> 10.10.0.3 QP 0x1")
	listLine = "%6d %12.6f  %s  %s"
	indent   = 6 + 1 + 12 + 2 + 2 // of a comment, without the ends' width
)

func (l *list) packet(p *Packet) error {
	if !l.begun {
		l.begun = true
		fmt.Fprintf(l.w, "%6s %12s  %s  %s\n", "number", "time/s", pad("from → to", l.ends), "packet")
	}
	fmt.Fprintf(l.w, listLine, p.Number, p.Time.Sub(l.s.Start).Seconds(), pad(arrow(p.From(), p.To()), l.ends), p.Label())
	if words := p.noteWords(); words != "" {
		fmt.Fprintf(l.w, "  ◂ %s", words)
	}
	l.w.WriteByte('\n')
	for line := range strings.SplitSeq(printable(p.Comment), "\n") {
		if line != "" {
			fmt.Fprintf(l.w, "%s» %s\n", strings.Repeat(" ", indent+l.ends), line)
		}
	}
	return nil
}

func (l *list) close(s *Summary) error {
	if l.begun {
		l.w.WriteByte('\n')
	}
	if err := s.write(l.w); err != nil {
		return err
	}
	return l.w.Flush()
}

// noteWords joins the texts of a packet's notes.
func (p *Packet) noteWords() string {
	var words []string
	for _, n := range p.Notes {
		words = append(words, n.Text)
	}
	return strings.Join(words, "; ")
}

func arrow(from, to Endpoint) string { return from.String() + " → " + to.String() }

// pad fills up with spaces to a width in runes.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

func width(s string) int { return utf8.RuneCountInString(s) }

// printable replaces control characters, which a capture may use to play tricks on
// a terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) || c == '\n' {
			return c
		}
		return '·'
	}, s)
}
