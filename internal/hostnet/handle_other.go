//go:build !linux

package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/rocinante-rdma/roce/wire"
)

var errLinuxOnly = errors.New("asking the kernel for routes, neighbours and changes is done on Linux only; use a link that leaves these to the kernel: udp")

// Handle asks about the host's network.
type Handle struct{}

// NewHandle opens a handle.
func NewHandle() (*Handle, error) { return &Handle{}, nil }

// Close closes the handle.
func (h *Handle) Close() error { return nil }

// Interfaces lists the network interfaces, without kinds, drivers, VLANs, masters and
// queues.
func (h *Handle) Interfaces() ([]Interface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	all := make([]Interface, len(list))
	for n := range list {
		if all[n], err = describe(&list[n]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func describe(itf *net.Interface) (Interface, error) {
	const running = net.FlagUp | net.FlagRunning
	i := Interface{
		Name: itf.Name, Index: itf.Index, MTU: itf.MTU,
		Up: itf.Flags&running == running, Loopback: itf.Flags&net.FlagLoopback != 0, Kind: "device",
	}
	if len(itf.HardwareAddr) == len(i.MAC) {
		i.MAC = wire.MAC(itf.HardwareAddr)
	}
	addrs, err := itf.Addrs()
	if err != nil {
		return i, fmt.Errorf("list the addresses of %s: %w", itf.Name, err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			i.Addrs = append(i.Addrs, netip.PrefixFrom(p.Addr().Unmap().WithZone(""), p.Bits()))
		}
	}
	return i, nil
}

// Route needs Linux.
func (h *Handle) Route(src, dst netip.Addr, ifindex int) (Hop, error) { return Hop{}, errLinuxOnly }

// Neighbour needs Linux.
func (h *Handle) Neighbour(ctx context.Context, ifindex int, next netip.Addr) (wire.MAC, error) {
	return wire.MAC{}, errLinuxOnly
}

// NewMonitor needs Linux.
func (h *Handle) NewMonitor() (*Monitor, error) { return nil, errLinuxOnly }

// Monitor exists on Linux only.
type Monitor struct{}

// Changes is never called: there is no Monitor.
func (m *Monitor) Changes() <-chan Change { return nil }

// Close is never called: there is no Monitor.
func (m *Monitor) Close() error { return nil }
