package demo

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// Names of networks, the values of --link.
const (
	UDP = "udp"
	Sim = "sim"
)

// network is what lies between A and B.
type network struct {
	name         string
	about        string // in words
	note         string // why it is not the one that was tried first
	addrA, addrB netip.Addr
	open         func(addrA, addrB netip.Addr) (a, b link.Link, err error)
	close        func() error
}

var networks = map[string]network{
	UDP: {name: UDP, about: "the kernel's UDP, on loopback", open: openUDP, close: noClose},
	Sim: {name: Sim, about: "a network simulated in this process", open: openSim, close: noClose},
}

func noClose() error { return nil }

// choose finds the network that the options ask for. If they leave it open it tries
// UDP, and takes the simulated network, with a note, where that cannot be had on the
// addresses.
func choose(o Options, addrA, addrB netip.Addr) (network, error) {
	if o.Link != nil {
		return newStreet(o.Network, o.Link)
	}
	n, ok := networks[o.Network]
	switch {
	case ok:
	case o.Network != "":
		return network{}, fmt.Errorf("--link %q: there is no such network; choose %s or %s", o.Network, UDP, Sim)
	default:
		n = networks[UDP]
		if err := tryUDP(addrA, addrB); err != nil {
			n = networks[Sim]
			n.note = err.Error()
		}
	}
	n.addrA, n.addrB = addrA, addrB
	return n, nil
}

// tryUDP says why UDP cannot be had: the addresses, the port, or a route between them
// is missing.
func tryUDP(addrA, addrB netip.Addr) (err error) {
	a, b, err := openUDP(addrA, addrB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(), b.Close()) }()
	if err := a.Resolve(&wire.Path{Src: addrA, Dst: addrB}); err != nil {
		return err
	}
	return b.Resolve(&wire.Path{Src: addrB, Dst: addrA})
}

func openUDP(addrA, addrB netip.Addr) (a, b link.Link, err error) {
	if a, err = udp.Open(addrA); err != nil {
		return nil, nil, err
	}
	if b, err = udp.Open(addrB); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return a, b, nil
}

func openSim(addrA, addrB netip.Addr) (a, b link.Link, err error) {
	w := simnet.New(0, simnet.RealTime())
	return w.Link("A", addrA), w.Link("B", addrB), nil
}
