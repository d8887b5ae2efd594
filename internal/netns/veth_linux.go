package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
)

// Host is one end of a veth pair, in a namespace of its own.
type Host struct {
	*Netns
	Interface  string // va or vb
	IPv4, IPv6 netip.Addr
}

// Street is two hosts joined by a veth pair.
type Street struct{ A, B *Host }

// Options of [NewStreet].
type Options struct {
	MTU    int // of the interfaces, bytes; 0: 1500
	Queues int // for receiving and for sending, each end; 0: 1
}

// NewStreet makes two hosts, which reach each other: va has 10.9.0.1/24 and
// fd09::1/64, vb 10.9.0.2/24 and fd09::2/64.
func NewStreet(o Options) (*Street, error) {
	s, err := newStreet()
	if err != nil {
		return nil, err
	}
	if err = join(s.A, s.B, o); err == nil {
		err = s.addAddresses()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("join two network namespaces: %w", err), s.Close())
	}
	return s, nil
}

// newStreet makes two hosts without interfaces.
func newStreet() (*Street, error) {
	s := &Street{}
	var err error
	if s.A, err = newHost("va", 1); err != nil {
		return nil, err
	}
	if s.B, err = newHost("vb", 2); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newHost(itf string, number byte) (*Host, error) {
	n, err := New()
	if err != nil {
		return nil, err
	}
	if err := n.Do(noDuplicates); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return &Host{
		Netns: n, Interface: itf,
		IPv4: netip.AddrFrom4([4]byte{10, 9, 0, number}),
		IPv6: netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x09, 15: number}),
	}, nil
}

// noDuplicates makes IPv6 addresses of interfaces to come usable at once, also the
// link-local ones: nobody else could have them.
func noDuplicates() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
}

// distinct is the index of the first end of a pair. The kernel tells at once that an
// interface has a carrier or lost it if the other end has another index, and else
// within a second (linkwatch_urgent_event in net/core/link_watch.c).
const distinct = 1001

// join lays a veth pair and sets both ends up.
func join(a, b *Host, o Options) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Index = a.Interface, distinct
	if o.MTU > 0 {
		attrs.MTU = o.MTU
	}
	if o.Queues > 0 {
		attrs.NumRxQueues, attrs.NumTxQueues = o.Queues, o.Queues
	}
	veth := &netlink.Veth{
		LinkAttrs: attrs, PeerName: b.Interface, PeerMTU: uint32(attrs.MTU),
		PeerNumRxQueues: uint32(attrs.NumRxQueues), PeerNumTxQueues: uint32(attrs.NumTxQueues),
		PeerNamespace: netlink.NsFd(b.f.Fd()),
	}
	if err := a.Do(func() error { return netlink.LinkAdd(veth) }); err != nil {
		return fmt.Errorf("add a veth pair: %w (the kernel needs CONFIG_VETH)", err)
	}
	return setUp(a, b)
}

// setUp sets both ends of a veth pair up.
func setUp(a, b *Host) error {
	var await func()
	err := a.Do(func() (err error) { _, await, err = SetUpFirst(a.Interface); return err })
	if err != nil {
		return err
	}
	err = b.Do(func() error { _, err := SetUp(b.Interface); return err })
	if err != nil {
		return err
	}
	await()
	return nil
}

// addAddresses gives both hosts theirs. Their interfaces must be up: an address is of
// no use before its interface sends.
func (s *Street) addAddresses() error {
	return errors.Join(s.A.Do(s.A.addAddresses), s.B.Do(s.B.addAddresses))
}

func (h *Host) addAddresses() error {
	l, err := netlink.LinkByName(h.Interface)
	if err != nil {
		return err
	}
	return errors.Join(
		AddAddress(l, netip.PrefixFrom(h.IPv4, 24).String()),
		AddAddress(l, netip.PrefixFrom(h.IPv6, 64).String()))
}

// Close lets go of both hosts.
func (s *Street) Close() error {
	var err error
	for _, h := range []*Host{s.A, s.B} {
		if h != nil {
			err = errors.Join(err, h.Netns.Close())
		}
	}
	return err
}
