//go:build !linux

package raw

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/rocinante-rdma/roce/link"
)

// Link is a network interface and an AF_PACKET socket on it. There is none on this
// system.
type Link struct{ link.Link }

// Open always fails on this system, with an error that matches
// [errors.ErrUnsupported].
func Open(ifname string, _ ...Option) (*Link, error) {
	return nil, fmt.Errorf("raw: open %s: AF_PACKET sockets are Linux's: %w on %s; use Linux, or a simulated network (package simnet)",
		ifname, errors.ErrUnsupported, runtime.GOOS)
}

// SuperFrames reports whether the link sends several packets in one super-frame.
func (*Link) SuperFrames() bool { return false }

// State is whether packets can pass.
func (*Link) State() link.State { return link.Gone }

// Events is the channel of what changes.
func (*Link) Events() <-chan link.Event { return nil }

// Counters are the numbers that tell of trouble.
func (*Link) Counters() []link.Counter { return nil }
