package xdp

import (
	"fmt"
	"strings"

	"github.com/rocinante-rdma/roce/bpf"
)

// SingleMTU is the largest IP packet, in bytes, of a link without packets in several
// buffers. One buffer is a page of 4096 bytes. The kernel keeps 256 of it for XDP, in
// front, and 320 for what a socket buffer ends with (struct skb_shared_info); what lies
// beyond is a second buffer to it, and lost before Linux 6.6. Ethernet header and VLAN
// tag take 18.
const SingleMTU = 4096 - 256 - 320 - 18

// Setup is what a link got from kernel and driver.
type Setup struct {
	Mode        bpf.Mode // where the XDP program runs: Native or Generic
	ZeroCopy    bool     // the driver reads and writes the link's memory; else the kernel copies
	MultiBuffer bool     // a packet may take several chunks: path MTU 4096
	Queues      []int    // of the interface, in use

	// Why something better was not to be had; nil if it was, or was not wanted.
	WhyGeneric, WhyCopy, WhySingle error
}

// String says it in one line.
func (s Setup) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "XDP %v, ", s.Mode)
	if s.ZeroCopy {
		b.WriteString("zero-copy, ")
	} else {
		b.WriteString("copy, ")
	}
	if s.MultiBuffer {
		b.WriteString("multi-buffer, ")
	} else {
		b.WriteString("single buffer, ")
	}
	fmt.Fprintf(&b, "queues %v", s.Queues)
	for _, w := range []struct {
		what string
		err  error
	}{{"not native", s.WhyGeneric}, {"no zero-copy", s.WhyCopy}, {"no multi-buffer", s.WhySingle}} {
		if w.err != nil {
			fmt.Fprintf(&b, "; %s: %v", w.what, w.err)
		}
	}
	return b.String()
}
