package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/demo"
	"github.com/rocinante-rdma/roce/link"
)

func newDemo() *cobra.Command {
	var o demo.Options
	var asJSON, stats bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "See RDMA at work between two devices in this process",
		Long: `demo opens two devices in this process, A on 127.0.0.2 and B on 127.0.0.3, and does
each operation of a reliable connection with them: SEND, WRITE, READ and atomics. It
draws every packet with the reason why it was sent and what was done with it, records
them for Wireshark, compares every byte of both memories with what has to be there,
and measures. It needs no privileges.

The network is the kernel's UDP. Where that cannot be had (UDP port 4791 is taken,
loopback has no route, or the system is not Linux) demo says so and simulates a network
in this process; with --link it takes the one that is asked for, or fails. With the
name of another link than udp the demo runs over that, as root: it makes two network
namespaces with a veth pair between them, which vanish with it.

` + linkHelp + `
  sim             no network: one simulated in this process

If a byte is wrong, demo says which, and its exit status is 1.`,
		Example: `  roci demo
  roci demo --link sim                  without any network
  sudo roci demo --link xdp             past the kernel, over a veth pair
  roci demo --out demo.pcapng           then: roci trace demo.pcapng, or Wireshark
  roci demo --size 1048576              throughput of longer messages
  roci demo --stats                     and all counters, with their meanings
  roci demo --json | jq .operations`,
		Args: flagsOnly,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt)
			defer stop()
			say := func(s string) { fmt.Fprintln(c.ErrOrStderr(), "roci: demo:", s) }
			return runDemo(ctx, c.OutOrStdout(), say, o, asJSON, stats)
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.Network, "link", "", "the `network`: see above (default: udp, or sim where udp cannot be had)")
	fs.StringVar(&o.Capture, "out", "", "write the packets to this pcapng `file` (default: a new one for temporary files)")
	fs.IntVar(&o.Size, "size", demo.DefaultSize, "`bytes` of the messages whose throughput is measured")
	fs.BoolVar(&asJSON, "json", false, "print the results as one JSON object, and nothing else")
	registerStats(c, &stats)
	fs.SortFlags = false
	return c
}

func runDemo(ctx context.Context, out io.Writer, say func(string), o demo.Options, asJSON, stats bool) error {
	if o.Network != "" && o.Network != demo.UDP && o.Network != demo.Sim {
		open, err := linkByName(o.Network)
		if err != nil {
			return fmt.Errorf("demo: %w, sim", err)
		}
		sayOnce := once(say)
		o.Link = func(dev string, addr netip.Addr) (link.Link, error) { return open(dev, addr, sayOnce) }
	}
	if !asJSON {
		o.Out = out
	}
	o.Progress = func(name string) { liveLine("measuring %s …", name) }
	r, err := demo.Run(ctx, o)
	liveLine("")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	if stats {
		printCounters(out, []string{"A", "B"}, []roce.Counters{r.CountersA, r.CountersB})
	}
	return nil
}

// once leaves out what was said already: the demo opens its links several times.
func once(say func(string)) func(string) {
	said := map[string]bool{}
	return func(s string) {
		if !said[s] {
			say(s)
		}
		said[s] = true
	}
}
