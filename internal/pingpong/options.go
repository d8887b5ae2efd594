package pingpong

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/trace"
)

// Defaults of ibv_rc_pingpong.
const (
	DefaultPort    = 18515
	DefaultSize    = 4096
	DefaultMTU     = 1024
	DefaultRxDepth = 500
	DefaultIters   = 1000
)

// Bounds of what can be asked for.
const (
	MaxSize    = 1 << 30
	MaxRxDepth = 1 << 15
	MaxIters   = 1 << 30
)

// Options are one end's settings. Both ends need the same Size, Iters and MTU.
type Options struct {
	// Addr is the address of this host to use; none: the one over which the TCP
	// connection to the peer runs.
	Addr netip.Addr
	// Open opens the link on an address. The run closes it.
	Open func(netip.Addr) (link.Link, error)

	Size    int  // bytes of a message
	MTU     int  // path MTU
	RxDepth int  // receives posted at a time
	Iters   int  // messages that each end sends
	Events  bool // sleep until completions come, instead of polling
	Check   bool // look at the data: see data.go

	ServiceLevel uint8 // 0–15; its low three bits are the priority in VLAN tags

	DCQCN *roce.DCQCN // congestion control by ECN, nil: off

	// timeout is the code of the local ACK timeout; 0: the tool's, 14. On a busy
	// machine two ends that spin starve each other for longer than eight times 67 ms.
	timeout uint8

	// Recorder, unless nil, records every packet. The caller closes it.
	Recorder *trace.Recorder
	// Out, unless nil, is where the lines of the report go as soon as they are known.
	Out io.Writer
	// Counted, unless nil, is told at the end what this end's device counted, also if the
	// run failed.
	Counted func(roce.Counters)
	// Connected, unless nil, is told when the queue pair is connected, and what it returns is
	// called when the run ends.
	Connected func(*roce.Device, *roce.QP) (done func())
	// Hint, unless nil, is told at most once, from another goroutine, what to look at
	// when nothing comes any more.
	Hint func(string)
}

// Validate says which of the numbers cannot be.
func (o *Options) Validate() error {
	for _, c := range []struct {
		flag           string
		value, low, up int
	}{
		{"--size", o.Size, 0, MaxSize},
		{"--rx-depth", o.RxDepth, 1, MaxRxDepth},
		{"--iters", o.Iters, 1, MaxIters},
	} {
		if c.value < c.low || c.value > c.up {
			return fmt.Errorf("%s %d: must be %d to %d", c.flag, c.value, c.low, c.up)
		}
	}
	switch o.MTU {
	case 256, 512, 1024, 2048, 4096:
		return nil
	}
	return fmt.Errorf("--mtu %d: must be 256, 512, 1024, 2048 or 4096", o.MTU)
}
