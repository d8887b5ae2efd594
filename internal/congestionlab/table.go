package congestionlab

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteTable prints the summaries of runs side by side, and what every flow got.
func WriteTable(w io.Writer, runs []*Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(what string, value func(*Summary) string) {
		fmt.Fprint(t, what)
		for _, r := range runs {
			fmt.Fprint(t, "\t", value(&r.Summary))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "from "+formatDuration(runs[0].Summary.SettledFrom)+" on")
	for _, r := range runs {
		fmt.Fprint(t, "\t", r.Scenario.title())
	}
	fmt.Fprintln(t)
	line("  fairness (Jain index)", func(s *Summary) string { return fmt.Sprintf("%.3f", s.Jain) })
	line("  the same, in windows of 10 ms", func(s *Summary) string { return fmt.Sprintf("%.3f", s.JainWindows) })
	line("  utilisation", func(s *Summary) string { return fmt.Sprintf("%.1f %%", 100*s.Utilisation) })
	line("  queue, mean", func(s *Summary) string { return kilobytes(s.QueueMean) })
	line("  queue, 99 % of the time below", func(s *Summary) string { return kilobytes(float64(s.QueueP99)) })
	line("  packets dropped", func(s *Summary) string { return fmt.Sprint(s.DropsSettled) })
	fmt.Fprintln(t, "the whole run"+strings.Repeat("\t", len(runs)))
	line("  fair within, after the last start", func(s *Summary) string { return since(s.Converged) })
	line("  goodput", func(s *Summary) string { return fmt.Sprintf("%.0f Mb/s", s.Goodput/1e6) })
	line("  queue, most", func(s *Summary) string { return kilobytes(float64(s.QueueMost)) })
	line("  packets dropped", func(s *Summary) string { return fmt.Sprint(s.Drops) })
	line("  sent again", func(s *Summary) string { return fmt.Sprint(s.Retransmitted) })
	line("  marked CE", func(s *Summary) string { return fmt.Sprint(s.Marks) })
	line("  CNPs", func(s *Summary) string { return fmt.Sprint(s.CNPs) })
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if err := r.writeFlows(w); err != nil {
			return err
		}
	}
	return nil
}

// since is a time that may never have come.
func since(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return fmt.Sprintf("%.0f ms", milliseconds(d))
}

func kilobytes(bytes float64) string { return fmt.Sprintf("%.1f KB", bytes/1e3) }

// The drawing of a flow in one line of text.
const (
	bars    = "▁▂▃▄▅▆▇█"
	columns = 50
)

// writeFlows draws what each flow got over time, up to the rate of the bottleneck.
func (r *Result) writeFlows(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\n%s, delivered over time:\n", r.Scenario.title()); err != nil {
		return err
	}
	for i, f := range r.Summary.Flows {
		_, err := fmt.Fprintf(w, "  flow %-3d %s %4.0f Mb/s\n", i+1, r.bars(i), f.Delivered/1e6)
		if err != nil {
			return err
		}
	}
	return nil
}

// bars are the flow's rates, mean by mean; where it got nothing there is a blank.
func (r *Result) bars(flow int) string {
	var b strings.Builder
	heights := []rune(bars)
	n := len(r.Samples)
	width := min(columns, n)
	for c := range width {
		share := delivered(r.Samples[c*n/width : (c+1)*n/width])[flow] / r.Scenario.Rate
		if share == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(heights[min(int(share*float64(len(heights))), len(heights)-1)])
	}
	return b.String()
}
