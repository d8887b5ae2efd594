package trace

import (
	"fmt"
	"io"
	"slices"

	"github.com/rocinante-rdma/roce/clock"
)

// Row is one packet in a ladder: an arrow from one column to another.
type Row struct {
	Time     clock.Time
	From, To string // names of columns; equal: something within one column
	Label    string // what the packet is, on the arrow
	Note     string // the sender's words, below the label: why it was sent
	Received string // the receiver's words, at its end: what it did and why
	Lost     bool   // the packet did not arrive: the arrow ends in ✗

	// Run, if not empty, names what a series of such rows consists of, such as
	// "SEND Middle". Of rows one after the other that have the same Run, ends and
	// words, only the first is drawn and the others are counted.
	Run string
}

// LadderOptions shape a ladder. The zero value is a good choice.
type LadderOptions struct {
	// Width is the length of the lines in characters; 0 means 100. Less than the
	// columns need is taken as what they need.
	Width int
}

const (
	defaultLadderWidth = 100
	minSpan            = 30 // from one rail to the next
	minRun             = 3  // shorter runs are drawn in full
	maxColumns         = 17 // the last one is shared
)

// WriteLadder draws rows in their order as a ladder of text (UTF-8 with
// box-drawing characters): a rail per column, an arrow per packet, the time on the
// left, in microseconds or, from ten seconds on, in seconds. Columns beyond the
// 16th share one. A row that names a column not in cols is an error, as is a
// failure to write.
func WriteLadder(w io.Writer, cols []string, rows []Row, o LadderOptions) error {
	s := newSheet(w, cols, rows, o)
	if err := s.check(rows); err != nil {
		return err
	}
	s.heading()
	for len(rows) > 0 {
		n := runLength(rows)
		s.row(&rows[0])
		if n > 1 {
			s.more(&rows[0], n-1)
		}
		rows = rows[n:]
	}
	if err := s.out.Flush(); err != nil {
		return ladderError(err)
	}
	return nil
}

// check finds rows that name a column which does not exist.
func (s *sheet) check(rows []Row) error {
	for i := range rows {
		for _, end := range []string{rows[i].From, rows[i].To} {
			if _, ok := s.column[end]; !ok {
				return fmt.Errorf("trace: row %d of the ladder names column %q, but the columns are %q", i, end, s.names)
			}
		}
	}
	return nil
}

func ladderError(err error) error {
	return fmt.Errorf("trace: writing the ladder failed, it ends early: %w", err)
}

// runLength is how many of the first rows are drawn as one.
func runLength(rows []Row) int {
	first, n := &rows[0], 1
	for n < len(rows) && first.Run != "" && first.sameRun(&rows[n]) {
		n++
	}
	if n < minRun {
		return 1
	}
	return n
}

func (r *Row) sameRun(s *Row) bool {
	return r.Run == s.Run && r.From == s.From && r.To == s.To &&
		r.Note == s.Note && r.Received == s.Received && r.Lost == s.Lost
}

// timeScale prints the times of one ladder in one unit.
type timeScale struct {
	unit     string
	per      float64 // nanoseconds per unit
	decimals int
	width    int
}

func newTimeScale(rows []Row) timeScale {
	const tenSeconds = 10e9
	t := timeScale{unit: "time/µs", per: 1e3, decimals: 3}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Time >= tenSeconds }) {
		t = timeScale{unit: "time/s", per: 1e9, decimals: 6}
	}
	t.width = runes(t.unit)
	for i := range rows {
		t.width = max(t.width, len(t.print(rows[i].Time)))
	}
	return t
}

func (t timeScale) print(at clock.Time) string {
	return fmt.Sprintf("%.*f", t.decimals, float64(at)/t.per)
}
