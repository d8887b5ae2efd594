package hostnet

import (
	"context"
	"net/netip"

	"github.com/rocinante-rdma/roce/wire"
)

// Interfaces lists the network interfaces in the order of their indices. See
// [Handle.Interfaces].
func Interfaces() ([]Interface, error) { return with((*Handle).Interfaces) }

// ByName returns an interface by its name. See [Handle.ByName].
func ByName(name string) (*Interface, error) {
	return with(func(h *Handle) (*Interface, error) { return h.ByName(name) })
}

// ByAddr returns the interface that has an address. See [Handle.ByAddr].
func ByAddr(addr netip.Addr) (*Interface, error) {
	return with(func(h *Handle) (*Interface, error) { return h.ByAddr(addr) })
}

// GIDs returns the GID table of an interface. See [Handle.GIDs].
func GIDs(i *Interface) ([]GID, error) {
	return with(func(h *Handle) ([]GID, error) { return h.GIDs(i) })
}

// Route returns the first hop towards an address. See [Handle.Route].
func Route(src, dst netip.Addr, ifindex int) (Hop, error) {
	return with(func(h *Handle) (Hop, error) { return h.Route(src, dst, ifindex) })
}

// Neighbour returns the MAC of a neighbour. See [Handle.Neighbour].
func Neighbour(ctx context.Context, ifindex int, next netip.Addr) (wire.MAC, error) {
	return with(func(h *Handle) (wire.MAC, error) { return h.Neighbour(ctx, ifindex, next) })
}

// NewMonitor watches the network namespace of the calling thread. See [Monitor].
func NewMonitor() (*Monitor, error) { return with((*Handle).NewMonitor) }

// with calls f with a handle that lives for the call.
func with[T any](f func(*Handle) (T, error)) (result T, err error) {
	h, err := NewHandle()
	if err != nil {
		return result, err
	}
	defer h.Close()
	return f(h)
}
