package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// Neighbour returns the MAC of a neighbour on an interface: the kernel's, which is
// asked to find it by ARP or neighbour discovery if it does not know it, and to check
// it if it has not for long. Unless ctx ends before, a neighbour that does not answer
// is an error after as long as the kernel tries, by default 3 s.
func (h *Handle) Neighbour(ctx context.Context, ifindex int, next netip.Addr) (wire.MAC, error) {
	next = next.Unmap().WithZone("")
	mac, err := h.resolve(ctx, ifindex, next)
	if err != nil {
		return wire.MAC{}, fmt.Errorf("neighbour %v on %s: %w", next, h.NameOf(ifindex), err)
	}
	return mac, nil
}

func (h *Handle) resolve(ctx context.Context, ifindex int, next netip.Addr) (wire.MAC, error) {
	known, err := h.neighbour(ifindex, next)
	if err == nil && known.State&fresh == 0 {
		err = h.seek(ifindex, next)
	}
	// The table is asked again and again, ever more slowly: an answer comes within a
	// millisecond, or hardly ever.
	for pause := 100 * time.Microsecond; err == nil; pause = min(2*pause, 20*time.Millisecond) {
		if known.State&valid != 0 {
			return macOf(known.HardwareAddr), nil
		}
		if err := sleep(ctx, pause); err != nil {
			return wire.MAC{}, fmt.Errorf("no answer until the call was given up: %w; %s", err, unanswered)
		}
		known, err = h.neighbour(ifindex, next)
		switch {
		case err != nil:
		case known.State&unix.NUD_FAILED != 0:
			err = errors.New("nobody answers; " + unanswered)
		case known.State == unix.NUD_NONE: // its interface went down meanwhile, or somebody deleted the entry
			err = h.seek(ifindex, next)
		}
	}
	return wire.MAC{}, err
}

const unanswered = "is the host up, in this network (and VLAN), and is its address right?"

// States of entries: those with a MAC, and of these those that need no check.
const (
	fresh = unix.NUD_REACHABLE | unix.NUD_DELAY | unix.NUD_PROBE | unix.NUD_PERMANENT | unix.NUD_NOARP
	valid = fresh | unix.NUD_STALE
)

// neighbour returns the kernel's entry, of state NUD_NONE if there is none.
func (h *Handle) neighbour(ifindex int, next netip.Addr) (netlink.Neigh, error) {
	family := netlink.FAMILY_V6
	if next.Is4() {
		family = netlink.FAMILY_V4
	}
	list, err := dump("neighbours", func() ([]netlink.Neigh, error) { return h.nl.NeighList(ifindex, family) })
	for _, n := range list {
		if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == next {
			return n, err
		}
	}
	return netlink.Neigh{}, err
}

// seek makes the kernel look for a neighbour, as a packet to it would.
func (h *Handle) seek(ifindex int, next netip.Addr) error {
	err := h.nl.NeighSet(&netlink.Neigh{LinkIndex: ifindex, IP: next.AsSlice(), Flags: unix.NTF_USE})
	if errors.Is(err, unix.EPERM) { // it takes CAP_NET_ADMIN, and a packet does not
		err = h.probe.datagram(ifindex, next)
	}
	if err != nil {
		return fmt.Errorf("make the kernel look for it: %w", err)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
