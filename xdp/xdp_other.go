//go:build !linux

package xdp

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/rocinante-rdma/roce/link"
)

// Link is a network interface and the AF_XDP sockets on its queues. There is none on
// this system.
type Link struct{ link.Link }

// Open always fails on this system, with an error that matches
// [errors.ErrUnsupported].
func Open(ifname string, _ ...Option) (*Link, error) {
	return nil, fmt.Errorf("xdp: open %s: AF_XDP sockets are Linux's: %w on %s; use Linux, or a simulated network (package simnet)",
		ifname, errors.ErrUnsupported, runtime.GOOS)
}

// Probe fails as Open does.
func Probe(ifname string, opts ...Option) (Setup, error) {
	_, err := Open(ifname, opts...)
	return Setup{}, err
}

// Setup is what kernel and driver gave.
func (*Link) Setup() Setup { return Setup{} }

// State is whether packets can pass.
func (*Link) State() link.State { return link.Gone }

// Events is the channel of what changes.
func (*Link) Events() <-chan link.Event { return nil }

// Counters are the numbers that tell of trouble.
func (*Link) Counters() []link.Counter { return nil }
