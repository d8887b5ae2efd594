package hostnet

import "net/netip"

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

// with calls f with a handle that lives for the call.
func with[T any](f func(*Handle) (T, error)) (result T, err error) {
	h, err := NewHandle()
	if err != nil {
		return result, err
	}
	defer h.Close()
	return f(h)
}
