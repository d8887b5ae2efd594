package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/rocinante-rdma/roce/internal/devices"
)

func newDevices() *cobra.Command {
	var f devicesFlags
	c := &cobra.Command{
		Use:   "devices [INTERFACE ...]",
		Short: "What this machine's network interfaces offer as RDMA devices",
		Long: `devices shows the network interfaces, or those that are named: state, MAC, MTU with the
largest path MTU that fits, addresses as GIDs, and which links work there. For a link
that does not work it says why, and what to do.

The links udp and raw are tried, which nobody notices. For xdp it only looks at what
could be in the way; --probe tries it too. That attaches an XDP program to the interface,
takes its queues for a moment and sends a frame, to the interface's own MAC address. Some
drivers reset the interface for it: connections over it may pause.

The GIDs have the indices of the kernel's table (ibv_devinfo -v): 0 is the link-local
address made from the MAC, there or not, then come IPv4, the other IPv6 addresses and
those of VLANs. -g of roci pingpong takes such an index.`,
		Example: `  roci devices
  roci devices eth0 -v                  in the words of ibv_devinfo
  sudo roci devices --probe eth0        try XDP's modes and zero-copy
  roci devices --json | jq '.[] | {name, path_mtu, links}'`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.OutOrStdout(), args) },
	}
	fs := c.Flags()
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show it in the words and the layout of ibv_devinfo")
	fs.BoolVar(&f.probe, "probe", false, "try xdp on the interfaces that are named, and send a frame; see above")
	fs.BoolVar(&f.json, "json", false, "print one JSON array, and nothing else")
	fs.SortFlags = false
	c.MarkFlagsMutuallyExclusive("verbose", "json")
	return c
}

// devicesFlags are the flags as given.
type devicesFlags struct{ verbose, probe, json bool }

func (f *devicesFlags) run(out io.Writer, names []string) error {
	if f.probe && len(names) == 0 {
		return errors.New("devices --probe disturbs the interfaces that it tries: name them, as in roci devices --probe eth0")
	}
	list, err := devices.List(names...)
	if err != nil {
		return err
	}
	if f.probe {
		for n := range list {
			list[n].Probe()
		}
	}
	switch {
	case f.json:
		return json.NewEncoder(out).Encode(list)
	case f.verbose:
		return devices.PrintVerbose(out, list)
	}
	return devices.Print(out, list)
}
