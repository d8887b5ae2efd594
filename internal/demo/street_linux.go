package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/auto"
	"github.com/rocinante-rdma/roce/wire"
)

// streetMTU lets packets of path MTU 4096 pass.
const streetMTU = 4200

// newStreet makes a network of two network namespaces and a veth pair between them,
// for a link that wants a network interface. It vanishes when it is closed, or with
// the process.
func newStreet(name string, open OpenLink) (network, error) {
	s, err := netns.NewStreet(netns.Options{MTU: streetMTU})
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; the demo of this link lays a veth pair between two network namespaces: run it as root (sudo roci demo --link %s), or with --link %s or %s, which need no privileges",
			err, name, UDP, Sim)
	}
	if err != nil {
		return network{}, fmt.Errorf("--link %s: %w", name, err)
	}
	openBoth := func(addrA, addrB netip.Addr) (a, b link.Link, err error) { return openEnds(s, open, addrA, addrB) }
	about, err := tryStreet(openBoth, s)
	if err != nil {
		return network{}, errors.Join(err, s.Close())
	}
	return network{
		name: name, about: about, addrA: s.A.IPv4, addrB: s.B.IPv4, open: openBoth, close: s.Close,
	}, nil
}

// tryStreet opens both links, for what they are: auto chooses one, and xdp a mode.
func tryStreet(open func(addrA, addrB netip.Addr) (a, b link.Link, err error), s *netns.Street) (about string, err error) {
	a, b, err := open(s.A.IPv4, s.B.IPv4)
	if err != nil {
		return "", err
	}
	return "a veth pair, by " + a.(inHost).what, errors.Join(a.Close(), b.Close())
}

func openEnds(s *netns.Street, open OpenLink, addrA, addrB netip.Addr) (a, b link.Link, err error) {
	if a, err = openIn(s.A, open, addrA); err != nil {
		return nil, nil, err
	}
	if b, err = openIn(s.B, open, addrB); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return a, b, nil
}

func openIn(h *netns.Host, open OpenLink, addr netip.Addr) (link.Link, error) {
	l := inHost{host: h}
	err := h.Do(func() (err error) {
		l.Link, err = open(h.Interface, addr)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.what = auto.Describe(l.Link)
	return l, nil
}

// inHost is a link that resolves paths in the namespace that it was opened in. Those
// of kernel UDP would do it in that of the caller.
type inHost struct {
	link.Link
	host *netns.Host
	what string
}

// Resolve prepares a path. See [link.Link].
func (l inHost) Resolve(p *wire.Path) error {
	return l.host.Do(func() error { return l.Link.Resolve(p) })
}
