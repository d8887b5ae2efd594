//go:build !linux

package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/rocinante-rdma/roce/link"
)

// Link is a link over the kernel's UDP socket. There is none on this system.
type Link struct{ link.Link }

// Open always fails on this system, with an error that matches
// [errors.ErrUnsupported].
func Open(addr netip.Addr, _ ...Option) (*Link, error) {
	return nil, fmt.Errorf("udp: open %v: %w on %s: it gives no way to know the IPv4 identification of sent packets, which the ICRC covers; use Linux, or a simulated network (package simnet)",
		addr, errors.ErrUnsupported, runtime.GOOS)
}

// Stats returns the link's counters.
func (*Link) Stats() Stats { return Stats{} }

// Buffers returns the sizes of the socket's buffers in bytes.
func (*Link) Buffers() (receive, send int) { return 0, 0 }

// LastRefusal says why the kernel last refused a packet.
func (*Link) LastRefusal() error { return nil }
