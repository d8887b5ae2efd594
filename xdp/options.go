package xdp

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/bpf"
)

// Option is an option of [Open].
type Option func(*config)

type config struct {
	addrs  []netip.Addr
	mode   bpf.Mode
	copies copies
	queues []int // none: all of the interface
	single bool
}

// copies is who moves packets between the driver and the socket's memory.
type copies uint8

const (
	anyCopies    copies = iota // the driver where it can, else the kernel copies
	wantZeroCopy               // the driver, or Open fails
	wantCopy                   // the kernel copies
)

// Addrs restricts the link to some addresses of the interface, the default first.
// Without it all usable ones are the link's, in the order of the GID table.
func Addrs(addrs ...netip.Addr) Option { return func(c *config) { c.addrs = addrs } }

// Native has the XDP program run in the driver, or Open fail. By default it runs there
// if the driver can, else as with [Generic].
func Native() Option { return func(c *config) { c.mode = bpf.Native } }

// Generic has the XDP program run behind the driver, on socket buffers: for drivers
// without XDP. Super-frames of peers on the same host (UDP segmentation offload over
// veth) come in whole there and are dropped.
func Generic() Option { return func(c *config) { c.mode = bpf.Generic } }

// ZeroCopy has the driver read and write the link's memory itself, or Open fail. By
// default it does so if it can, and if packets fit one chunk or it can do several.
func ZeroCopy() Option { return func(c *config) { c.copies = wantZeroCopy } }

// Copy has the kernel copy every packet.
func Copy() Option { return func(c *config) { c.copies = wantCopy } }

// SingleBuffer keeps packets within one chunk: the link's MTU is 3502 at most, so the
// path MTU 2048. Drivers whose zero-copy takes single chunks only (virtio-net) then
// give it on interfaces with a larger MTU too, where they can.
func SingleBuffer() Option { return func(c *config) { c.single = true } }

// Queues says which queues of the interface to use; what arrives at others is the
// host's. The default is all, since the NIC's hash decides where packets arrive. On
// NICs with many, steer UDP port 4791 to a few (ethtool -N) and name those.
func Queues(ids ...int) Option { return func(c *config) { c.queues = ids } }
