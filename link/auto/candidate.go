package auto

import (
	"fmt"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// candidate is a link that may be chosen.
type candidate struct {
	kind
	virtue   string // why it is good at its place in the order
	drawback string // why others come before it
}

// kind is how to get a link.
type kind struct {
	name     string
	obstacle func(*place) string // why not to try; "": nothing is in the way
	open     func(*place) (link.Link, error)
}

var (
	kindUDP = kind{"udp", oneAddress, func(p *place) (link.Link, error) { return udp.Open(p.gids[0].Zoned()) }}
	kindRaw = kind{"raw", frames, func(p *place) (link.Link, error) {
		return raw.Open(p.itf.Name, raw.Addrs(p.addrs...))
	}}
	kindXDP = kind{"xdp", nativeXDP, func(p *place) (link.Link, error) {
		return xdp.Open(p.itf.Name, xdp.Addrs(p.addrs...), xdp.Native())
	}}
)

// orders has the candidates for each wish, the best first.
var orders = map[Wish][]candidate{
	Bandwidth: {{
		kind:   kindUDP,
		virtue: "several packets share one trip through the kernel (super-frames), and no privilege is needed",
	}, {
		kind:     kindRaw,
		virtue:   "several packets share one trip through the kernel (super-frames)",
		drawback: "raw has super-frames too, but costs more per packet, and CAP_NET_RAW",
	}, {
		kind:     kindXDP,
		virtue:   "packets pass by the kernel's IP, in memory shared with the kernel, but each for itself",
		drawback: "with xdp each packet travels for itself",
	}},
	Latency: {{
		kind:   kindXDP,
		virtue: "packets pass by the kernel's IP, in memory shared with the kernel: the shortest way there is",
	}, {
		kind:     kindUDP,
		virtue:   "it has the least latency but for xdp, and no privilege is needed",
		drawback: "udp's packets take the longer way through the kernel's IP",
	}, {
		kind:     kindRaw,
		virtue:   "packets pass by the kernel's IP, if not by its socket buffers",
		drawback: "raw has a little more latency than udp",
	}},
}

func oneAddress(p *place) string {
	if n := len(p.addrs); n > 1 {
		return fmt.Sprintf("udp has one address, and %d are wanted", n)
	}
	return ""
}

func frames(p *place) string {
	if p.itf.Loopback {
		return fmt.Sprintf("%s is the loopback interface, where there are no frames", p.itf.Name)
	}
	return ""
}

// nativeXDP says what keeps packets from AF_XDP sockets where the driver gives no
// error.
func nativeXDP(p *place) string {
	switch {
	case p.itf.Loopback:
		return frames(p)
	case p.base.Kind == "bond":
		// In net/xdp/xsk.c xsk_rcv_check compares the device of the packet with that
		// of the socket.
		return fmt.Sprintf("%s is a bond: its members receive the packets, and the kernel drops those since the AF_XDP socket is the bond's", p.base.Name)
	case p.tagged && p.base.Kind == "veth":
		return fmt.Sprintf("%s is a veth, whose other end keeps VLAN tags beside the packets, where XDP does not see them", p.base.Name)
	case p.untags:
		return fmt.Sprintf("%s takes VLAN tags off before XDP sees the packets; turn that off for xdp: ethtool -K %s rxvlan off",
			p.base.Name, p.base.Name)
	}
	return ""
}
