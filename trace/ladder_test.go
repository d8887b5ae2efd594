package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
)

// drawRows draws a ladder of fixed rows.
func drawRows(t *testing.T, cols []string, o LadderOptions, rows ...Row) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteLadder(&b, cols, rows, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every shape that a row can have, in three columns of 80 characters.
func TestLadderShapes(t *testing.T) {
	golden(t, "shapes.txt", []byte(drawRows(t, []string{"left", "middle", "right"}, LadderOptions{Width: 80},
		Row{Time: 0, From: "left", To: "middle", Label: "short"},
		Row{Time: 1500, From: "middle", To: "left", Label: "short back", Note: "said by the sender", Received: "ok"},
		Row{Time: 2500, From: "left", To: "right", Label: "passes the middle", Note: "sender", Received: "receiver"},
		Row{Time: 3500, From: "right", To: "left", Label: "passes the middle, on the way back"},
		Row{Time: 4500, From: "middle", To: "right", Label: "a label that is too long for one line of this span", Note: "why"},
		Row{Time: 5500, From: "right", To: "middle", Label: "just enough to leave no arrow"},
		Row{Time: 6500, From: "left", To: "middle", Label: "gone", Lost: true},
		Row{Time: 7500, From: "middle", To: "left", Label: "gone too", Lost: true, Received: "not received"},
		Row{Time: 8500, From: "left", To: "left", Label: "within the left", Note: "and why"},
		Row{Time: 9500, From: "right", To: "right", Label: "within the right"},
		Row{Time: 10500, From: "left", To: "middle", Label: "two lines", Note: "first line\nsecond line"},
		Row{Time: 11500, From: "left", To: "middle", Note: "without a label"},
		Row{Time: 9_999_999_999, From: "middle", To: "right", Label: "tabs\tand \x1b[31m, and-a-word-that-is-longer-than-the-line-is"},
	)))
}

// Lines are as long as asked for, whatever is in them, but no column is starved.
func TestLadderWidth(t *testing.T) {
	cols := []string{"a", "b", strings.Repeat("a very long name", 20)}
	row := Row{From: "b", To: cols[2], Label: strings.Repeat("x", 500), Note: strings.Repeat("much to say ", 50)}
	for asked, want := range map[int]int{0: 100, 80: 80, 100: 100, 1: 9 + 2*30 + 1, -5: 9 + 2*30 + 1} {
		longest := longestLine(drawRows(t, cols, LadderOptions{Width: asked}, row, row))
		if longest != want {
			t.Errorf("asked for %d: the longest line has %d characters, want %d", asked, longest, want)
		}
	}
}

// However many columns a capture asks for, the lines stay within bounds.
func TestLadderColumns(t *testing.T) {
	for _, n := range []int{0, 1, 2, maxColumns, maxColumns + 1, 5000} {
		var cols []string
		var rows []Row
		for i := range n {
			cols = append(cols, fmt.Sprint("host ", i))
			rows = append(rows, Row{From: cols[i], To: cols[0], Label: "hello", Note: "from here", Received: "there"})
		}
		out := drawRows(t, cols, LadderOptions{}, rows...)
		if longest := longestLine(out); longest > 9+maxColumns*minSpan {
			t.Errorf("%d columns make lines of %d characters", n, longest)
		}
		if got := strings.Count(out, "others"); got != 1 && n > maxColumns || got != 0 && n <= maxColumns {
			t.Errorf("%d columns: %d headings of the others", n, got)
		}
		if got := strings.Count(out, "hello"); got != n {
			t.Errorf("%d columns: %d rows drawn", n, got)
		}
	}
}

func longestLine(out string) (longest int) {
	for line := range strings.Lines(out) {
		longest = max(longest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return longest
}

// Times from ten seconds on are in seconds.
func TestLadderTimes(t *testing.T) {
	out := drawRows(t, []string{"a", "b"}, LadderOptions{},
		Row{Time: 1_500_000, From: "a", To: "b"}, Row{Time: 12_000_001_000, From: "a", To: "b"})
	for _, want := range []string{"time/s", " 0.001500  │", "12.000001  │"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// Runs of three or more are counted, and anything that differs ends a run.
func TestLadderRuns(t *testing.T) {
	middle := Row{From: "a", To: "b", Label: "Middle", Run: "SEND Middle"}
	again := middle
	again.Note = "retransmission"
	out := drawRows(t, []string{"a", "b"}, LadderOptions{}, middle, middle, again, again, again, again, middle)
	if n := strings.Count(out, "▶"); n != 4 {
		t.Errorf("%d arrows, want two, one for the run, and one:\n%s", n, out)
	}
	if !strings.Contains(out, "⋮ 3 more SEND Middle") {
		t.Errorf("the run is not counted:\n%s", out)
	}
}

func TestLadderNamesTheWrongColumn(t *testing.T) {
	err := WriteLadder(&bytes.Buffer{}, []string{"a", "b"}, []Row{{From: "a", To: "c"}}, LadderOptions{})
	if err == nil || !strings.Contains(err.Error(), `row 0 of the ladder names column "c"`) {
		t.Errorf("error is %v", err)
	}
}

// draw lets devices tell their story to a ladder.
func draw(t *testing.T, tell func(a, b Tap)) string {
	t.Helper()
	var out bytes.Buffer
	r := NewSync(NewLadder(&out, LadderOptions{}))
	tell(r.Device("a"), r.Device("b"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func sendOnly(at clock.Time, psn bth.PSN) *Event {
	return sent(at, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: psn}, 8, 0)
}

// Both ends' words meet in one row, even if the receiver's come first.
func TestLadderPairsEnds(t *testing.T) {
	for name, tell := range map[string]func(a, b Tap){
		"sender first":   func(a, b Tap) { a.Packet(sendOnly(0, 7)); b.Packet(received(2000, sendOnly(0, 7), executed(7))) },
		"receiver first": func(a, b Tap) { b.Packet(received(2000, sendOnly(0, 7), executed(7))); a.Packet(sendOnly(0, 7)) },
	} {
		out := draw(t, tell)
		if strings.Count(out, "PSN 7") != 1 || !strings.Contains(out, "first transmission") ||
			!strings.Contains(out, "executed: expected request") || !strings.Contains(out, "  0.000") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// Of a packet and its repetition the first was lost; a second copy is told apart
// from both.
func TestLadderTellsLossFromCopies(t *testing.T) {
	out := draw(t, func(a, b Tap) {
		a.Packet(sendOnly(0, 7))
		a.Packet(sendOnly(1000, 7))
		b.Packet(received(3000, sendOnly(1000, 7), executed(7)))
		a.Packet(sendOnly(4000, 8))
		b.Packet(received(5000, sendOnly(4000, 8), executed(8)))
		b.Packet(received(6000, sendOnly(4000, 8), executed(8)))
	})
	marks := strings.FieldsFunc(out, func(c rune) bool { return !strings.ContainsRune("✗▶", c) })
	if got := strings.Join(marks, " "); got != "✗ ▶ ▶ ▶" || strings.Count(out, "copied or changed") != 1 {
		t.Errorf("drawn: %s\n%s", got, out)
	}
}

// A packet to a peer that is not recorded arrives for all we know.
func TestLadderToStrangers(t *testing.T) {
	out := draw(t, func(a, _ Tap) { a.Packet(sendOnly(0, 7)) })
	if strings.Contains(out, "✗") || !strings.Contains(out, "10.0.0.2") {
		t.Errorf("\n%s", out)
	}
}

// With more than one QP per device the words say which.
func TestLadderNamesQPs(t *testing.T) {
	out := draw(t, func(a, b Tap) {
		e := sendOnly(0, 7)
		a.Packet(e)
		e.QPN = 0x99
		a.Packet(e)
	})
	if !strings.Contains(out, "QP 0x11: first transmission") || !strings.Contains(out, "QP 0x99: first transmission") {
		t.Errorf("\n%s", out)
	}
}

// The newest packets are kept, and the number of the others is told.
func TestLadderIsBounded(t *testing.T) {
	out := draw(t, func(a, b Tap) {
		for i := range maxPassages + 1 {
			a.Packet(sendOnly(clock.Time(i), bth.PSN(i)))
		}
	})
	if !strings.HasPrefix(out, fmt.Sprintf("… %d earlier packets are not drawn\n", maxPassages/2)) {
		t.Errorf("begins with %q", out[:80])
	}
	if n := strings.Count(out, "▶"); n != maxPassages/2+1 {
		t.Errorf("%d packets drawn, want %d", n, maxPassages/2+1)
	}
}
