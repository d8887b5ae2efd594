// Command roci is the toolbox of the RoCEv2 stack: each subcommand is a file of its
// own.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	if err := newRoot().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "roci:", err)
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "roci",
		Short: "RoCEv2 for the NIC you already have",
		Long: `roci looks at, speaks and explains RoCEv2: RDMA over UDP port 4791.

Each command tells more with --help.`,
		Example: `  roci demo                             every operation, drawn, checked and measured
  roci congestion --compare             flows share a bottleneck, with DCQCN and without
  roci trace capture.pcapng             what is in a capture, packet by packet
  roci trace capture.pcapng --ladder    who sent what to whom`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine:      true,
		SuggestionsMinimumDistance: 2, // letters

		SilenceErrors: true, // main prints them
		SilenceUsage:  true, // --help has it; an error should be read, not searched for
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(newCongestion())
	root.AddCommand(newDemo())
	root.AddCommand(newDevices())
	root.AddCommand(newPingpong())
	root.AddCommand(newTrace())
	return root
}

// flagsOnly refuses arguments.
func flagsOnly(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only, %q is none; see %s --help", c.Name(), args[0], c.CommandPath())
	}
	return nil
}

// knownCommand is asked when the first argument names no command.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := ""
	if like := c.SuggestionsFor(args[0]); len(like) > 0 {
		meant = " did you mean " + strings.Join(like, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q;%s see %s --help", args[0], meant, c.CommandPath())
}
