package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/pingpong"
	"github.com/rocinante-rdma/roce/link"
)

func newPingpong() *cobra.Command {
	var f pingpongFlags
	c := &cobra.Command{
		Use:   "pingpong [HOST]",
		Short: "Send messages to and fro, as and with ibv_rc_pingpong",
		Long: `pingpong measures the round trip of messages over a reliable connection. Without
HOST it is the server, which waits for one client; with HOST it is the client.

It has the options, the TCP exchange and the report of rdma-core's
ibv_rc_pingpong, which can be the other end. Give both ends the same -s, -n and -m,
and the tool also -g, since RoCE needs a GID. What the tool does with on-demand
paging, device memory and time stamps of its device (-o -O -P -j -t -N) has no
meaning here.

Devices are network interfaces, by name: --dev eth0 (--ib-dev means the same). -g
chooses an address of the interface, in the order of the kernel's GID table: 0 is the
link-local IPv6 address, then come IPv4 and then the other IPv6 addresses, and then,
alike, those of VLAN sub-interfaces. --dev without -g takes the first IPv4 address,
else the first global IPv6 address. With neither, nor --addr, the address is the one
over which the TCP connection to the other end runs.

` + linkHelp + `

-c: the client sends other data in each message and compares what comes back; the
server looks, at the end, for the zeros that a client with -c sends at the start of
each 4096 bytes of its last message. Both work with the tool at the other end: its
server returns what it gets, and looks for the same zeros. Its client looks at
nothing that it gets, with or without -c.

-l: where the link is raw or xdp, the low three bits of the service level are the
priority in the VLAN tags of all packets; without a VLAN, a priority other than 0 makes
tags with VLAN ID 0. Other links write no tags, and -l has no effect.`,
		Example: `  roci pingpong                            a server
  roci pingpong 10.0.0.1                   its client
  roci pingpong 127.0.0.2                  its client on the same host, as 127.0.0.1
  roci pingpong -c -n 100 -s 65536 10.0.0.1
  ibv_rc_pingpong -g 1 10.0.0.1            the tool as the client
  roci pingpong --addr fd00::1             a server on this address
  roci pingpong --link auto 10.0.0.1       over the link with the least latency
  roci pingpong --link xdp:zerocopy --dev eth0 -g 1 10.0.0.1
  roci pingpong --stats 10.0.0.1           and what was lost, repeated, refused
  roci pingpong --dcqcn paper --cnp --stats 10.0.0.1
  roci pingpong --trace run.pcapng 10.0.0.1 && roci trace --ladder run.pcapng`,
		Args: atMostOneHost,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt)
			defer stop()
			f.say = func(s string) { fmt.Fprintln(c.ErrOrStderr(), "roci: pingpong:", s) }
			f.o.Hint = f.say
			if f.dcqcn.params != "" && isTerminal(os.Stderr) {
				f.o.Connected = func(d *roce.Device, q *roce.QP) func() { return watchRate(c.ErrOrStderr(), d, q) }
			}
			return f.run(ctx, c.OutOrStdout(), args)
		},
	}
	f.register(c)
	return c
}

func atMostOneHost(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("pingpong takes one host, the server's, or none to be the server; %d were given; see roci pingpong --help", len(args))
	}
	return nil
}

// pingpongFlags are the flags as given.
type pingpongFlags struct {
	o                  pingpong.Options
	port               uint16
	device, addr, link string
	gid                int
	devicePort, sl     int
	json, stats        bool
	trace              string
	dcqcn              dcqcnFlags

	say func(string) // what is no part of the report
}

func (f *pingpongFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.Uint16VarP(&f.port, "port", "p", pingpong.DefaultPort, "listen on, or connect to, this TCP `port`")
	fs.StringVarP(&f.device, "dev", "d", "", "use this network `interface`; or --ib-dev")
	fs.IntVarP(&f.devicePort, "ib-port", "i", 1, "use this port `number` of the device; interfaces have one")
	fs.IntVarP(&f.o.Size, "size", "s", pingpong.DefaultSize, "`bytes` of a message")
	fs.IntVarP(&f.o.MTU, "mtu", "m", pingpong.DefaultMTU, "path MTU: payload `bytes` of a packet")
	fs.IntVarP(&f.o.RxDepth, "rx-depth", "r", pingpong.DefaultRxDepth, "`number` of receives to post at a time")
	fs.IntVarP(&f.o.Iters, "iters", "n", pingpong.DefaultIters, "`number` of exchanges")
	fs.IntVarP(&f.sl, "sl", "l", 0, "service `level`, 0 to 15; see above")
	fs.BoolVarP(&f.o.Events, "events", "e", false, "sleep until completions come, instead of polling")
	fs.IntVarP(&f.gid, "gid-idx", "g", -1, "use the address of this `index`; see above")
	fs.BoolVarP(&f.o.Check, "chk", "c", false, "look at the data that comes; see above")
	fs.StringVar(&f.addr, "addr", "", "use this local `address`; link-local with %interface")
	fs.StringVar(&f.link, "link", "udp", "reach the network by this `link`; see above")
	fs.BoolVar(&f.json, "json", false, "print the report as one JSON object")
	registerStats(c, &f.stats)
	f.dcqcn.register(fs)
	fs.StringVar(&f.trace, "trace", "", "record all packets of this end, with what was done with them and why, in this pcapng `file`")
	fs.SortFlags = false
	fs.SetNormalizeFunc(toolNames)
	c.MarkFlagsMutuallyExclusive("addr", "dev")
	c.MarkFlagsMutuallyExclusive("addr", "gid-idx")
}

// toolNames lets flags have the tool's names besides ours.
func toolNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "ib-dev" {
		name = "dev"
	}
	return pflag.NormalizedName(name)
}

// run does what the flags say.
func (f *pingpongFlags) run(ctx context.Context, out io.Writer, args []string) (err error) {
	if err := f.complete(); err != nil {
		return err
	}
	if !f.json {
		f.o.Out = out
		if f.stats {
			f.o.Counted = func(c roce.Counters) { printCounters(out, []string{"this end"}, []roce.Counters{c}) }
		}
	}
	if f.trace != "" {
		rec, err := newTraceFile(f.trace)
		if err != nil {
			return err
		}
		f.o.Recorder = rec.Recorder
		defer func() { err = errors.Join(err, rec.close()) }()
	}
	r, err := f.play(ctx, args)
	switch {
	case err != nil:
		return fmt.Errorf("pingpong: %w", err)
	case f.json:
		return json.NewEncoder(out).Encode(r)
	case f.stats && r.Rate != nil:
		fmt.Fprintln(out, rateLine(fmt.Sprintf("QP 0x%06x", r.Local.QPN), *r.Rate))
	}
	return nil
}

// play runs one end.
func (f *pingpongFlags) play(ctx context.Context, args []string) (*pingpong.Result, error) {
	port := strconv.Itoa(int(f.port))
	if len(args) == 1 {
		return pingpong.Dial(ctx, net.JoinHostPort(args[0], port), f.o)
	}
	ln, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return nil, fmt.Errorf("%w; end what listens there, or choose another port with -p", err)
	}
	defer ln.Close()
	return pingpong.Serve(ctx, ln, f.o)
}

// complete checks the flags and sets the options that need it.
func (f *pingpongFlags) complete() (err error) {
	open, err := linkByName(f.link)
	if err != nil {
		return err
	}
	f.o.Open = func(a netip.Addr) (link.Link, error) { return open(f.device, a, f.say) }
	if f.devicePort != 1 {
		return fmt.Errorf("--ib-port %d: a network interface is a device with one port, 1", f.devicePort)
	}
	if f.sl < 0 || f.sl > 15 {
		return fmt.Errorf("--sl %d: must be 0 to 15", f.sl)
	}
	f.o.ServiceLevel = uint8(f.sl)
	if f.o.DCQCN, err = f.dcqcn.dcqcn(); err != nil {
		return err
	}
	if f.addr != "" {
		if f.o.Addr, err = parseAddr(f.addr); err != nil {
			return fmt.Errorf("--addr: %w", err)
		}
	} else if f.device != "" || f.gid >= 0 {
		if f.o.Addr, err = pingpong.LocalAddr(f.device, f.gid); err != nil {
			return err
		}
	}
	return f.o.Validate()
}
