package congestionlab

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// writeSamples writes a run as CSV: a line for each sample, first of the bottleneck, then
// of flow after flow. The head says the units; packets are counted.
func writeSamples(w io.Writer, r *Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "time_ms,queue_mean_bytes,queue_most_bytes,dropped,marked,cnps")
	for i := range r.Scenario.Senders {
		fmt.Fprintf(b, ",flow%d_delivered_mbps,flow%[1]d_rate_mbps,flow%[1]d_target_mbps,flow%[1]d_alpha", i+1)
	}
	fmt.Fprintln(b)
	for i := range r.Samples {
		s := &r.Samples[i]
		fmt.Fprintf(b, "%.3f,%.0f,%d,%d,%d,%d", milliseconds(s.Time), s.Queue, s.QueueMost, s.Drops, s.Marks, s.CNPs)
		for _, f := range s.Flows {
			fmt.Fprintf(b, ",%.3f,%.3f,%.3f,%.5f", f.Delivered/1e6, f.Rate/1e6, f.Target/1e6, f.Alpha)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
