package pingpong

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rocinante-rdma/roce/internal/hostnet"
)

// LocalAddr returns the address that options -d and -g of the tool choose: an
// interface by its name ("": the first that is up, is not the loopback and has a
// usable address), and of its GID table the entry of the index, or by default (-1)
// the first IPv4 address, else the first global IPv6 address, else a link-local one.
func LocalAddr(device string, index int) (netip.Addr, error) {
	h, err := hostnet.NewHandle()
	if err != nil {
		return netip.Addr{}, err
	}
	defer h.Close()
	if device == "" {
		if device, err = firstDevice(h); err != nil {
			return netip.Addr{}, err
		}
	}
	itf, err := h.ByName(device)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%w; roci's devices are the network interfaces", err)
	}
	table, err := h.GIDs(itf)
	if err != nil {
		return netip.Addr{}, err
	}
	g, err := choose(table, index)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("interface %s: %w", device, err)
	}
	return g.Zoned(), nil
}

// firstDevice returns the name of the interface that stands for no -d.
func firstDevice(h *hostnet.Handle) (string, error) {
	all, err := h.Interfaces()
	if err != nil {
		return "", err
	}
	for n := range all {
		if !all[n].Up || all[n].Loopback {
			continue
		}
		table, err := h.GIDs(&all[n])
		if err != nil {
			return "", err
		}
		if _, err := hostnet.Usable(table); err == nil {
			return all[n].Name, nil
		}
	}
	return "", errors.New("no network interface is up and has an address but the loopback; name one with -d, or give an address with --addr")
}

// choose returns the entry of the index, or for -1 the one that works most likely.
func choose(table []hostnet.GID, index int) (hostnet.GID, error) {
	if index < 0 {
		usable, err := hostnet.Usable(table)
		if err != nil {
			return hostnet.GID{}, err
		}
		return hostnet.Preferred(usable), nil
	}
	if index >= len(table) {
		return hostnet.GID{}, fmt.Errorf("there is no GID %d; there are%s", index, list(table))
	}
	if g := table[index]; g.Problem != "" {
		return g, fmt.Errorf("GID %d, %v, cannot be used: %s; there are%s", index, g.Addr, g.Problem, list(table))
	}
	return table[index], nil
}

// list shows a GID table in one line.
func list(table []hostnet.GID) string {
	var b strings.Builder
	for _, g := range table {
		fmt.Fprintf(&b, " %d: %v", g.Index, g.Addr)
		if g.Problem != "" {
			b.WriteString(" (unusable)")
		}
	}
	return b.String()
}
