package demo

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
)

// width is the length of the longest lines, in characters.
const width = 100

func printIntroduction(w io.Writer, n network, r *arena) {
	fmt.Fprint(w, "RDMA between two devices, A and B, in this process.\n\n")
	if n.note != "" {
		fmt.Fprintf(w, "%s\n\n", wrap("Not over UDP, because of this: "+n.note))
	}
	fmt.Fprintf(w, `  network   %s: %s
  A         %v, QP 0x%x
  B         %v, QP 0x%x
  packets   up to %d bytes of payload each (the path MTU)

Time runs downwards. Every arrow is a packet: what it is, and its sequence number (PSN). Below it
stand the sender's reason at one end and, at the other, what the receiver did. An ACK acknowledges
everything up to its PSN; its MSN counts the messages that B has completed.
`, n.name, n.about, r.a.qp.Info().GID, r.a.qp.QPN(), r.b.qp.Info().GID, r.b.qp.QPN(), r.pathMTU())
}

func printHeading(w io.Writer, number int, o *operation) {
	fmt.Fprintf(w, "\n%d. %s\n   %s\n\n", number, o.name, o.words)
}

func printChecked(w io.Writer, all int64, moved int) {
	fmt.Fprintf(w, "\n   ✓ %s bytes are where they belong, and none of the other %s around them changed.\n",
		thousands(int64(moved)), thousands(all-int64(moved)))
}

func printResult(w io.Writer, n network, r *Result) error {
	fmt.Fprintf(w, "\nHow fast over %s (path MTU %d, nothing is recorded meanwhile)\n\n", n.about, r.PathMTU)
	printTable(w, r)
	fmt.Fprintf(w, `
Latency is the time from posting until A knows that it is done. Both ends sleep when there is
nothing to do, and share the %d processors of this computer with everything else that runs.
Packets that had to be sent again: %s.
`, runtime.NumCPU(), thousands(int64(r.Repeated)))
	if n.name == Sim {
		fmt.Fprint(w, `These are numbers of a simulation: no network is measured, but timers, which can be a millisecond
late.
`)
	}
	_, err := fmt.Fprintf(w, `
✓ Every byte was right: %s compared, guards included.

The packets above, each as sent and as received, with the reason in a comment, are in
  %s
Open it in Wireshark, or with: roci trace --ladder FILE
`, thousands(r.Checked), r.Capture)
	return err
}

func printTable(w io.Writer, r *Result) {
	fmt.Fprintf(w, "                             one at a time          %d at a time\n", r.Burst)
	fmt.Fprintf(w, "                         bytes  p50 µs  p99 µs      bytes     ops/s    MB/s\n")
	for _, m := range r.Operations {
		fmt.Fprintf(w, "  %-22s %5d %7.1f %7.1f  %9s %9s %7.1f\n", m.Operation, m.SingleBytes, m.P50, m.P99,
			thousands(int64(m.BurstBytes)), thousands(int64(m.PerSecond)), m.MBPerSecond)
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// wrap breaks text into lines.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		if n := len([]rune(word)); column > 0 && column+1+n > width {
			b.WriteString("\n" + word)
			column = n
		} else {
			if column > 0 {
				word = " " + word
			}
			b.WriteString(word)
			column += len([]rune(word))
		}
	}
	return b.String()
}
