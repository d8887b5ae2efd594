package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	lab "github.com/rocinante-rdma/roce/internal/congestionlab"
)

func newCongestion() *cobra.Command {
	var f congestionFlags
	c := &cobra.Command{
		Use:   "congestion",
		Short: "Watch congestion control share a bottleneck",
		Long: `congestion has some senders send to one receiver, all over the stack as it is, in a
simulated network and in virtual time. The packets wait in front of the receiver in a
buffer whose switch marks them by its length (ECN, with the probabilities of RED); the
receiver notifies the senders (CNP), and these slow down and recover (DCQCN). The same
scenario with the same seed gives the same bytes on every machine.

It prints a summary, and leaves in a directory:

  rate.svg, .png      what every flow got, over time
  queue.svg, .png     what waited in front of the receiver, and where marking begins
  limiter.svg, .png   what every sender's limiter allowed, and its alpha
  samples.csv         all of it in numbers
  run.pcapng          the marked packets and the CNPs, each with a comment that says what
                      was done with it and why; headers only
  scenario.txt        the scenario, complete: give it to --file to have the same again
  summary.json        the summary

--compare plays the scenario again without DCQCN and shows both side by side. The stack
then has only its window of packets in flight, which halves when some are lost.

A scenario is what it has different from the default, by flags, or by a file of lines
"key = value" whose keys are the flags' names, with comments after #. Flags win. Bytes,
bit rates and times have units: 64KiB, 250KB, 1Gb/s, 40Mb/s, 50us, 20ms.

--params chooses a set of parameters, which other flags change one by one: paper, for
40 Gb/s; connectx, with which these adapters come; and scaled, the paper's with increases
and a lowest rate that are smaller in proportion below 10 Gb/s, but not below 1 Mb/s.`,
		Example: `  roci congestion                                  four flows, one after the other
  roci congestion --compare --out results          and without DCQCN
  roci congestion --senders 16 --starts "every 0s" --ack-timeout 10   all at once
  roci congestion --params connectx --cnp-interval 4us
  roci congestion --operation read                 the responders are limited
  roci congestion --kmin 40KB --kmax 40KB --timer 1500us --byte-counter 150KB   QCN: not fair
  roci congestion --file scenario.txt --seed 2
  roci congestion --json | jq '.runs[0].jain'
  roci trace results/run.pcapng                    the marks and the notifications`,
		Args: flagsOnly,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout())
		},
	}
	f.register(c)
	return c
}

// congestionFlags are the flags as given.
type congestionFlags struct {
	file, out     string
	compare, json bool
	settings      []lab.Setting // of the flags that are keys of a scenario
}

func (f *congestionFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.file, "file", "", "read the scenario from this `file`")
	fs.BoolVar(&f.compare, "compare", false, "play it without DCQCN, too")
	fs.StringVar(&f.out, "out", "", "leave the results in this `directory` (default: a new one for temporary files)")
	fs.BoolVar(&f.json, "json", false, "print the summary as one JSON object, and nothing else")
	usual := lab.Default()
	for i := range lab.Keys {
		k := &lab.Keys[i]
		fs.Var(&keyFlag{k, k.Value(&usual), &f.settings}, k.Name, k.Help)
	}
	fs.SortFlags = false
}

// keyFlag is a key of a scenario as a flag. It implements pflag.Value.
type keyFlag struct {
	key      *lab.Key
	value    string
	settings *[]lab.Setting
}

func (k *keyFlag) String() string { return k.value }
func (k *keyFlag) Type() string   { return "value" }

// Set notes the value down, if it can be one.
func (k *keyFlag) Set(value string) error {
	if err := k.key.Check(value); err != nil {
		return err
	}
	k.value = value
	*k.settings = append(*k.settings, lab.Setting{Key: k.key.Name, Value: value, Where: "--" + k.key.Name})
	return nil
}

// run does what the flags say.
func (f *congestionFlags) run(ctx context.Context, out io.Writer) error {
	s, err := f.scenario()
	if err != nil {
		return err
	}
	if f.compare && !s.DCQCN {
		return fmt.Errorf("--compare: the scenario is without DCQCN already; leave out dcqcn = off")
	}
	album, err := lab.NewAlbum(f.out)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // who interrupts twice does not wait for the results either
	runs, err := album.Play(ctx, s, f.compare, congestionLine(&s))
	liveLine("")
	if err != nil {
		return fmt.Errorf("congestion: %w", err)
	}
	if f.json {
		return json.NewEncoder(out).Encode(congestionReport{album.Dir, album.Files, lab.Summaries(runs)})
	}
	fmt.Fprintf(out, "%s\n\n", s.String())
	if err := lab.WriteTable(out, runs); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nin %s:\n  %s\n", album.Dir, strings.Join(album.Files, "  "))
	return nil
}

// congestionReport is what --json prints.
type congestionReport struct {
	Directory string        `json:"directory"`
	Files     []string      `json:"files"`
	Runs      []lab.Summary `json:"runs"`
}

// scenario is what the file and the flags make together.
func (f *congestionFlags) scenario() (s lab.Scenario, err error) {
	var settings []lab.Setting
	if f.file != "" {
		r, err := os.Open(f.file)
		if err != nil {
			return s, fmt.Errorf("--file: %w", err)
		}
		defer r.Close()
		if settings, err = lab.ReadSettings(r, filepath.Base(f.file)); err != nil {
			return s, fmt.Errorf("--file: %w", err)
		}
	}
	return lab.Build(slices.Concat(settings, f.settings)...)
}

// congestionLine says how a run goes on.
func congestionLine(s *lab.Scenario) lab.Progress {
	cnps := 0
	return func(run string, sample *lab.Sample) {
		cnps += sample.CNPs
		liveLine("%s  %v of %v  %s  queue %.0f KB  %d CNPs",
			run, sample.Time, s.Duration, flowRates(sample), sample.Queue/1e3, cnps)
	}
}

// flowRates lists what the flows get, as many as a line of text holds.
func flowRates(s *lab.Sample) string {
	const room = 6
	var b strings.Builder
	for i := range s.Flows[:min(room, len(s.Flows))] {
		fmt.Fprintf(&b, "%5.0f", s.Flows[i].Delivered/1e6)
	}
	if len(s.Flows) > room {
		b.WriteString(" …")
	}
	return b.String() + " Mb/s"
}
