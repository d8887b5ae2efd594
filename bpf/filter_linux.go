package bpf

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel,bpfeb -tags linux -type counter -go-package bpf filter filter.c -- -Wall -Wextra -Werror

// Config is what a Filter is made for.
type Config struct {
	Interface string       // its name, for messages
	Index     int          // of the interface, in the namespace of the calling thread
	Queues    int          // receive queues of the interface, from 0
	Addrs     []netip.Addr // to which packets are ours
	Mode      Mode

	kernel kernel
}

// Filter is the program on one interface. It is attached by a link of the kernel's
// (bpf_link), so it ends with the process at the latest, and neither evicts another
// program nor can be evicted. Methods are safe for concurrent use.
type Filter struct {
	collection *ebpf.Collection
	attached   link.Link
	mode       Mode
	whyGeneric error
	frags      bool
}

// Attach loads the program and attaches it to the interface. Without a socket (see
// [Filter.SetSocket]) it passes everything to the host.
//
// It needs CAP_NET_ADMIN and CAP_BPF, and Linux 5.9. The error matches [ErrOccupied]
// if the interface has another XDP program, and [ErrKernel] if the kernel is too old.
func Attach(c Config) (*Filter, error) {
	f := &Filter{}
	if err := f.open(&c); err != nil {
		return nil, errors.Join(fmt.Errorf("bpf: XDP program for %s: %w", c.Interface, err), f.Close())
	}
	return f, nil
}

func (f *Filter) open(c *Config) (err error) {
	if f.collection, f.frags, err = load(c); err != nil {
		return err
	}
	f.attached, f.mode, f.whyGeneric, err = attach(c, f.program())
	return err
}

// SetSocket gives the packets of a receive queue to an AF_XDP socket bound to it.
// The kernel takes the socket out when it is closed.
func (f *Filter) SetSocket(queue, socket int) error {
	if err := f.collection.Maps[filterMapSockets].Put(uint32(queue), uint32(socket)); err != nil {
		return fmt.Errorf("bpf: socket of queue %d: %w", queue, err)
	}
	return nil
}

// Mode is Native or Generic.
func (f *Filter) Mode() Mode { return f.mode }

// WhyGeneric is why Auto came to be Generic; nil if it did not.
func (f *Filter) WhyGeneric() error { return f.whyGeneric }

// MultiBuffer reports whether the program takes packets in several buffers (Linux
// 5.18), as large ones are.
func (f *Filter) MultiBuffer() bool { return f.frags }

// Close detaches the program.
func (f *Filter) Close() (err error) {
	if f.attached != nil {
		err = f.attached.Close()
	}
	if f.collection != nil {
		f.collection.Close()
	}
	return err
}
