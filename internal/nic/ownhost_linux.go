package nic

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/wire"
)

// ownHost is the way between a local address and others of this host: frames sent to
// the wire would not come back. It goes through the kernel, over the loopback
// interface.
//
// Its socket also holds UDP port 4791 of the address, so that the kernel does not
// answer what arrives for it with ICMP port unreachable.
type ownHost struct {
	link  *udp.Link // nil: err says why
	queue link.Queue
	err   error
	paths atomic.Int32 // that some QP may still use
}

// ownPath is what [NIC.Resolve] makes of a path to this host.
type ownPath struct {
	way  *ownHost
	path wire.Path // as the way's link resolved it
}

// openOwnHost opens the way from each address. One that cannot be opened is no
// failure: the wire does not need it.
func (n *NIC) openOwnHost() {
	for _, l := range n.locals {
		o := &ownHost{}
		addr := l.addr
		if addr.Is6() && addr.IsLinkLocalUnicast() {
			addr = addr.WithZone(l.on.name)
		}
		if o.link, o.err = udp.Open(addr, udp.OwnHost()); o.err == nil {
			o.queue = o.link.Queue()
		}
		n.ownHost = append(n.ownHost, o)
	}
}

// resolve prepares a path to an address of this host. It counts among the paths as
// long as p refers to it.
func (o *ownHost) resolve(host *hostnet.Handle, p *wire.Path) error {
	if o.err != nil {
		return fmt.Errorf("%v is an address of this host, so packets go through the kernel's UDP port: %w", p.Dst, o.err)
	}
	own := &ownPath{way: o, path: *p}
	own.path.SrcMAC, own.path.DstMAC, own.path.VLAN = wire.MAC{}, wire.MAC{}, 0
	if err := host.Do(func() error { return o.link.Resolve(&own.path) }); err != nil {
		return err
	}
	*p = own.path
	p.Link = own
	o.paths.Add(1)
	runtime.AddCleanup(own, func(paths *atomic.Int32) { paths.Add(-1) }, &o.paths)
	return nil
}

func (o *ownHost) counters() []link.Counter {
	if o.link == nil {
		return nil
	}
	return o.link.Counters()
}

func (o *ownHost) close() error {
	if o.link == nil {
		return nil
	}
	return o.link.Close()
}
