package main

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/rocinante-rdma/roce/trace/decode"
)

func newTrace() *cobra.Command {
	var f traceFlags
	c := &cobra.Command{
		Use:   "trace FILE",
		Short: "Explain the RoCEv2 packets of a capture",
		Long: `trace reads a pcap or pcapng file, as tcpdump, Wireshark and roci write it, and
prints its RoCEv2 packets: as a list, one line per packet; as a ladder, with a
column for each end and an arrow for each packet; or as JSON lines. Packet numbers
are those of the file, the same as in Wireshark.

It checks every ICRC, finds out which two queue pairs talk to each other (packets
name only the receiver's; the sender's is learned from the answers, and "?" where
nothing tells it), and notes what the packets do not say themselves:
retransmissions and what they repeat, duplicates made by the network, gaps,
packets out of order, why a NAK was sent, which packets a switch marked (CE), and
which sender a congestion notification (CNP) slows down, because of which mark.
Comments in the file are shown.

All packets are followed, also those that a filter leaves out. Several filters must
all hold; several values of one filter are alternatives.`,
		Example: `  roci trace capture.pcapng                    everything, as a list
  roci trace capture.pcapng --ladder --qp 17   one queue pair, as a ladder
  roci trace capture.pcapng --errors           only what went wrong
  roci trace capture.pcapng --op nak,rnr       only refusals
  roci trace capture.pcapng --op ce,cnp        only what tells of congestion
  roci trace capture.pcapng --psn 100-120 --host 10.0.0.2
  roci trace capture.pcapng --from 500 --to 600
  roci trace capture.pcapng --json | jq 'select(.aeth.msn > 5)'`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			return decode.Print(c.OutOrStdout(), args[0], o)
		},
	}
	f.register(c)
	return c
}

func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("trace takes one capture file, %d were given; see roci trace --help", len(args))
	}
	return nil
}

// traceFlags are the flags as given.
type traceFlags struct {
	ladder, json, errors bool
	qps, ops, hosts      []string
	psn                  string
	from, to             int
}

func (f *traceFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVar(&f.ladder, "ladder", false, "draw a ladder instead of a list")
	fs.BoolVar(&f.json, "json", false, "print JSON lines instead of a list")
	fs.StringSliceVar(&f.qps, "qp", nil, "only packets sent by or to this queue pair `number` (17 or 0x11)")
	fs.StringVar(&f.psn, "psn", "", "only packets with this PSN, or in this `range` A-B (B < A wraps around)")
	fs.StringSliceVar(&f.ops, "op", nil, "only these `kinds` of packets: "+decode.OpNames())
	fs.StringSliceVar(&f.hosts, "host", nil, "only packets sent by or to this IP `address`")
	fs.BoolVar(&f.errors, "errors", false, "only trouble: retransmissions, duplicates, gaps, NAKs, RNR NAKs, bad ICRCs, broken packets, odd CNPs")
	fs.IntVar(&f.from, "from", 0, "only packets from this `number` on")
	fs.IntVar(&f.to, "to", 0, "only packets up to this `number`")
	c.MarkFlagsMutuallyExclusive("ladder", "json")
	fs.SortFlags = false
}

// options turns the flags into what package decode takes.
func (f *traceFlags) options() (o decode.Options, err error) {
	switch {
	case f.ladder:
		o.Format = decode.Ladder
	case f.json:
		o.Format = decode.JSONLines
	}
	o.Filter.Trouble, o.Filter.From, o.Filter.To = f.errors, f.from, f.to
	if o.Filter.QPs, err = each("--qp", f.qps, decode.ParseQPN); err != nil {
		return o, err
	}
	if o.Filter.Ops, err = each("--op", f.ops, decode.ParseOp); err != nil {
		return o, err
	}
	if o.Filter.Hosts, err = each("--host", f.hosts, parseAddr); err != nil {
		return o, err
	}
	if f.to > 0 && f.from > f.to {
		return o, fmt.Errorf("--from %d --to %d: no packet is in this range; give the lower number to --from", f.from, f.to)
	}
	if f.psn == "" {
		return o, nil
	}
	if o.Filter.PSNs, err = decode.ParsePSNRange(f.psn); err != nil {
		return o, fmt.Errorf("--psn: %w", err)
	}
	return o, nil
}

// parseAddr parses the value of a flag that is an address.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return a, fmt.Errorf("%q is no IP address; write one like 10.0.0.2 or fd00::2", s)
	}
	return a, nil
}

// each parses the values of a flag.
func each[T any](flag string, values []string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for _, v := range values {
		t, err := parse(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		all = append(all, t)
	}
	return all, nil
}
