package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rocinante-rdma/roce"
)

// registerStats gives a command the flag --stats.
func registerStats(c *cobra.Command, stats *bool) {
	c.Flags().BoolVar(stats, "stats", false, "print at the end what was counted, each counter with its meaning (--json always has it)")
}

// printCounters prints a table of the counters that are not zero for all devices, each
// with its name and what one count of it is.
func printCounters(w io.Writer, devices []string, counters []roce.Counters) {
	fmt.Fprintf(w, "\n%-30s", "counter")
	for _, d := range devices {
		fmt.Fprintf(w, " %15s", d)
	}
	fmt.Fprintf(w, "  of what\n")
	for id := range roce.NumCounters {
		var sum uint64
		for _, c := range counters {
			sum |= c[id]
		}
		if sum == 0 {
			continue
		}
		fmt.Fprintf(w, "%-30s", id)
		for _, c := range counters {
			fmt.Fprintf(w, " %15d", c[id])
		}
		fmt.Fprintf(w, "  %s: %s\n", id.Unit(), id.Help())
	}
}
