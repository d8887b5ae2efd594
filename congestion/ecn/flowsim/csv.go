package flowsim

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// WriteCSV writes the samples, one a line, in whole units, so that it is the same text on
// every CPU: times in microseconds, the queue in bytes, rates in kb/s, alpha in 1/1000.
func (r *Result) WriteCSV(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "time_us,queue_mean,queue_longest,sent,dropped,marked,cnps")
	if len(r.Samples) > 0 {
		for i := range r.Samples[0].Flows {
			fmt.Fprintf(out, ",delivered_%d,rate_%d,target_%d,alpha_%d", i, i, i, i)
		}
	}
	fmt.Fprintln(out)
	for _, s := range r.Samples {
		fmt.Fprintf(out, "%d,%.0f,%d,%d,%d,%d,%d", s.At/time.Microsecond, s.Queue, s.Longest, s.Sent, s.Dropped, s.Marked, s.CNPs)
		for _, f := range s.Flows {
			fmt.Fprintf(out, ",%d,%.0f,%.0f,%.0f", f.Delivered, f.Rate/1e3, f.Target/1e3, 1000*f.Alpha)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}
