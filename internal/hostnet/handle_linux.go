package hostnet

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Handle asks about the network namespace of the thread that opened it. Any goroutine
// may call its methods, on any thread.
type Handle struct {
	nl    *netlink.Handle
	ns    namespace
	probe probe
}

// NewHandle opens a handle on the network namespace of the calling thread. The caller
// closes it.
func NewHandle() (*Handle, error) {
	h := &Handle{ns: noNamespace, probe: noProbe}
	if err := h.open(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Handle) open() (err error) {
	if h.ns, err = currentNamespace(); err != nil {
		return err
	}
	if h.nl, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("open a netlink socket, to ask the kernel about interfaces: %w", err)
	}
	h.probe, err = openProbe()
	return err
}

// Close closes the handle. Its monitors stay open.
func (h *Handle) Close() error {
	if h.nl != nil {
		h.nl.Close()
	}
	return errors.Join(h.probe.close(), h.ns.close())
}

// Do calls f on a thread that is in the handle's namespace, for what is not this
// package's: sockets that f opens belong to it. Where the calling thread is in another
// one that takes CAP_SYS_ADMIN.
func (h *Handle) Do(f func() error) error { return h.ns.do(f) }

// dump reads a table of the kernel; one that changed while it was read is read again.
func dump[T any](what string, read func() (T, error)) (table T, err error) {
	const attempts = 16
	for range attempts {
		if table, err = read(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return table, fmt.Errorf("read the kernel's table of %s: %w", what, err)
	}
	return table, nil
}
