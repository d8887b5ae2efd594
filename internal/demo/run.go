package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/rocinante-rdma/roce/link"
)

// Bounds of Options.Size.
const (
	MinSize     = 8
	MaxSize     = 1 << 20
	DefaultSize = 64 << 10
)

// timeout ends a run that hangs. One that does not takes some three seconds.
const timeout = 30 * time.Second

// Options say how the demo is run.
type Options struct {
	Network  string       // UDP, Sim, or empty: UDP where it can be had, else Sim; or the name of Link
	Link     OpenLink     // what A and B open on the two ends of a veth pair, made for it; nil: see Network
	Size     int          // bytes of the messages whose throughput is measured
	Capture  string       // the pcapng file to write; empty: a new temporary one
	Out      io.Writer    // for the story in words; nil: none
	Progress func(string) // is told which operation is being measured; nil: nobody
}

// OpenLink opens a link on a network interface and one of its addresses.
type OpenLink func(dev string, addr netip.Addr) (link.Link, error)

// plan is what a run does.
type plan struct {
	operations   []operation
	addrA, addrB netip.Addr    // on loopback or simulated
	budget       time.Duration // for each of the two series that measure an operation
}

// Run runs the demo. The error is a *[MismatchError] if memory did not hold what it
// had to; whatever it is, what was drawn before it is in Out.
func Run(ctx context.Context, o Options) (*Result, error) {
	return run(ctx, o, plan{
		operations: operations,
		addrA:      netip.MustParseAddr("127.0.0.2"), addrB: netip.MustParseAddr("127.0.0.3"),
		budget: 120 * time.Millisecond,
	})
}

func run(ctx context.Context, o Options, p plan) (_ *Result, err error) {
	if o.Size < MinSize || o.Size > MaxSize {
		return nil, fmt.Errorf("--size %d: must be %d to %d", o.Size, MinSize, MaxSize)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	n, err := choose(o, p.addrA, p.addrB)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done within %v", timeout))
	defer cancel()

	res := &Result{Network: n.name, Note: n.note, A: n.addrA, B: n.addrB, Burst: depth}
	if err := tell(ctx, n, p, o, res); err != nil {
		return nil, withCause(ctx, err)
	}
	if err := measure(ctx, n, p, o, res); err != nil {
		return nil, withCause(ctx, err)
	}
	return res, printResult(o.Out, n, res)
}

// tell plays all operations and prints their ladders.
func tell(ctx context.Context, n network, p plan, o Options, res *Result) (err error) {
	s, err := beginStory(n, o.Capture)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	res.PathMTU, res.Capture = s.arena.pathMTU(), s.file.Name()
	printIntroduction(o.Out, n, s.arena)
	for i := range p.operations {
		op := &p.operations[i]
		printHeading(o.Out, i+1, op)
		before := s.arena.checked
		ladder, err := s.play(ctx, op)
		fmt.Fprint(o.Out, ladder)
		if err != nil {
			return err
		}
		printChecked(o.Out, s.arena.checked-before, op.length(s.arena.size))
	}
	res.Checked = s.arena.checked
	res.count(s.arena.pair)
	for _, d := range s.recorder.Stats().Devices {
		res.Packets += int(d.Recorded)
	}
	return nil
}

// withCause adds why the context ended, if it did.
func withCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}
