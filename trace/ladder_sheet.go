package trace

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// sheet is the paper that a ladder is drawn on, line by line.
type sheet struct {
	names  []string       // of the columns
	column map[string]int // by name; several names may share the last column
	rails  []int          // position of each column's rail
	width  int
	times  timeScale
	line   []rune // the line under construction
	out    *bufio.Writer
}

func newSheet(w io.Writer, cols []string, rows []Row, o LadderOptions) *sheet {
	s := &sheet{out: bufio.NewWriter(w), times: newTimeScale(rows), width: o.Width}
	if s.width == 0 {
		s.width = defaultLadderWidth
	}
	s.setColumns(cols)
	s.setRails(rows)
	return s
}

// setColumns gives each name a column, as long as there are columns.
func (s *sheet) setColumns(cols []string) {
	s.names, s.column = cols, make(map[string]int, len(cols))
	if n := len(cols) - maxColumns + 1; n > 1 {
		s.names = append(slices.Clone(cols[:maxColumns-1]), fmt.Sprintf("%d others", n))
	}
	for i, name := range slices.Backward(cols) {
		s.column[name] = min(i, len(s.names)-1)
	}
}

// ends are the numbers of the row's columns.
func (s *sheet) ends(r *Row) (from, to int) { return s.column[r.From], s.column[r.To] }

// setRails gives every span between neighbours its least width, and divides what
// is left of the line by how many packets pass there.
func (s *sheet) setRails(rows []Row) {
	first, spans := s.times.width+margin, max(1, len(s.names)-1)
	s.width = max(s.width, first+spans*minSpan+1)
	spare := s.width - 1 - first - spans*minSpan
	passed := s.passedBefore(rows, spans)
	for i := range s.names {
		shift := spare * i / spans
		if total := passed[spans]; total > 0 {
			shift = spare * passed[i] / total
		}
		s.rails = append(s.rails, first+i*minSpan+shift)
	}
}

// passedBefore counts, for each column, how often packets pass the spans left of it.
func (s *sheet) passedBefore(rows []Row, spans int) []int {
	passed := make([]int, spans+1)
	for i := range rows {
		from, to := s.ends(&rows[i])
		for g := min(from, to); g < max(from, to); g++ {
			passed[g+1]++
		}
	}
	for i := range spans {
		passed[i+1] += passed[i]
	}
	return passed
}

// span is the room between two rails, and which way things go there.
type span struct {
	left, right int // positions of the rails
	way         way
}

type way uint8

const (
	rightward way = iota
	leftward
	inward // a row within one column
)

// margin separates text from the rails.
const margin = 2

func (s *sheet) span(r *Row) span {
	from, to := s.ends(r)
	switch {
	case from < to:
		return span{s.rails[from], s.rails[to], rightward}
	case from > to:
		return span{s.rails[to], s.rails[from], leftward}
	case from+1 < len(s.rails):
		return span{s.rails[from], s.rails[from+1], inward}
	case from > 0:
		return span{s.rails[from-1], s.rails[from], inward}
	}
	return span{s.rails[from], s.width, inward}
}

// room is the number of runes that a line of text in the span can have.
func (p span) room() int { return p.right - p.left - 2*margin + 1 }

// heading draws the names of the columns and the ends of their rails.
func (s *sheet) heading() {
	s.clear(' ')
	s.put(s.times.width-runes(s.times.unit), s.times.unit)
	for i, name := range s.names {
		left, right := s.nameRoom(i)
		name = cut(strings.Map(printable, name), right-left)
		n := runes(name)
		s.put(min(max(left, s.rails[i]-n/2), right-n), name)
	}
	s.flush()
	s.clear('┬')
	s.flush()
}

// nameRoom is where a column's name may be: up to the middle between its rail and
// the next, but not beyond the outer rails.
func (s *sheet) nameRoom(i int) (left, right int) {
	left, right = s.rails[i], s.width
	if i > 0 {
		left = (s.rails[i-1]+s.rails[i])/2 + 1
	}
	if i < len(s.rails)-1 {
		right = (s.rails[i] + s.rails[i+1]) / 2
	}
	return left, right
}

// row draws one packet: label and arrow, and the words of both ends below.
func (s *sheet) row(r *Row) {
	p := s.span(r)
	text := r.Label
	if p.way == inward {
		text = "↺ " + text
	}
	label := wrap(text, p.room())
	if len(label) == 0 {
		label = []string{""}
	}
	for i, words := range label {
		s.clear('│')
		if i == 0 {
			t := s.times.print(r.Time)
			s.put(s.times.width-len(t), t)
		}
		s.near(p, words, p.way != leftward)
		if i == len(label)-1 {
			s.arrow(p, words, r.Lost)
		}
		s.flush()
	}
	s.words(p, r)
}

// shortestArrow is what must be left behind the label's last line for an arrow.
const shortestArrow = 5

// arrow draws the arrow behind the label's last line, or below if there is no room.
func (s *sheet) arrow(p span, label string, lost bool) {
	if p.way == inward {
		return
	}
	n := runes(label)
	if n > 0 {
		n += margin
	}
	if p.right-p.left-1-n < shortestArrow {
		s.flush()
		s.clear('│')
		n = 0
	}
	if p.way == rightward {
		s.shaft(p.left+1+n, p.right-1, 1, '▶', lost)
	} else {
		s.shaft(p.right-1-n, p.left+1, -1, '◀', lost)
	}
}

// shaft draws from one position to another, with the head at the end. A lost
// packet's arrow does not get there.
func (s *sheet) shaft(from, to, step int, head rune, lost bool) {
	if lost {
		head = '✗'
		to -= step * 2
	}
	for x := from; x != to; x += step {
		if s.line[x] == '│' {
			s.line[x] = '┼'
		} else {
			s.line[x] = '─'
		}
	}
	s.line[to] = head
}

// words draws what the ends say, each at its side, on one line if that is enough.
func (s *sheet) words(p span, r *Row) {
	sent, received := wrap(r.Note, p.room()), wrap(r.Received, p.room())
	const gap = 3
	if len(sent) == 1 && len(received) == 1 && runes(sent[0])+gap+runes(received[0]) <= p.room() {
		s.clear('│')
		s.near(p, sent[0], p.way != leftward)
		s.near(p, received[0], p.way == leftward)
		s.flush()
		return
	}
	for _, words := range sent {
		s.clear('│')
		s.near(p, words, p.way != leftward)
		s.flush()
	}
	for _, words := range received {
		s.clear('│')
		s.near(p, words, p.way == leftward)
		s.flush()
	}
}

// more draws the count of the rows that are not drawn.
func (s *sheet) more(r *Row, n int) {
	p := s.span(r)
	s.clear('│')
	s.near(p, fmt.Sprintf("⋮ %d more %s", n, r.Run), p.way != leftward)
	s.flush()
}

// near puts text at the left or the right end of the span.
func (s *sheet) near(p span, text string, left bool) {
	if left {
		s.put(p.left+margin, text)
	} else {
		s.put(p.right-margin-runes(text)+1, text)
	}
}

// put writes text at a position.
func (s *sheet) put(at int, text string) {
	for _, c := range text {
		s.line[at] = c
		at++
	}
}

// clear begins a line with nothing but rails.
func (s *sheet) clear(rail rune) {
	s.line = slices.Repeat([]rune{' '}, s.width)
	for _, x := range s.rails {
		s.line[x] = rail
	}
}

// flush ends the line.
func (s *sheet) flush() {
	// A bufio.Writer keeps its first error until the last Flush.
	_, _ = s.out.WriteString(strings.TrimRight(string(s.line), " ") + "\n")
}
