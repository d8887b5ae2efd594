package netns

import (
	"errors"
	"fmt"
	"os"
)

// Star is hosts that are each joined by a veth pair to one more namespace, the middle,
// where nothing joins them to each other.
type Star struct {
	Hosts  []*Host // va with 10.9.0.1/24 and fd09::1/64, vb with 10.9.0.2/24 …
	Middle *Netns
	Ends   []string // the interfaces in the middle: ma, joined to va, mb, joined to vb …
}

// maxHosts is how many letters there are for interfaces.
const maxHosts = 26

// NewStar makes so many hosts, at most 26, which do not reach each other. The middle has
// no addresses, and sends nothing by itself.
func NewStar(hosts int, o Options) (*Star, error) {
	if hosts < 1 || hosts > maxHosts {
		return nil, fmt.Errorf("netns: a star of %d hosts; it has between 1 and %d", hosts, maxHosts)
	}
	s := &Star{}
	if err := s.lay(hosts, o); err != nil {
		return nil, errors.Join(fmt.Errorf("join %d network namespaces to a middle: %w", hosts, err), s.Close())
	}
	return s, nil
}

// lay makes the namespaces and lays the cables between them.
func (s *Star) lay(hosts int, o Options) (err error) {
	if s.Middle, err = New(); err != nil {
		return err
	}
	if err := s.Middle.Do(noIPv6); err != nil {
		return err
	}
	for n := range byte(hosts) {
		h, err := newHost("v"+string('a'+n), n+1)
		if err != nil {
			return err
		}
		s.Hosts = append(s.Hosts, h)
		s.Ends = append(s.Ends, "m"+string('a'+n))
		if err := join(h, &Host{Netns: s.Middle, Interface: s.Ends[n]}, o); err != nil {
			return err
		}
		if err := h.Do(h.addAddresses); err != nil {
			return err
		}
	}
	return nil
}

// noIPv6 keeps interfaces to come from having IPv6 addresses, and looking for others.
func noIPv6() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
}

// Close lets go of the hosts and the middle.
func (s *Star) Close() error {
	var err error
	for _, h := range s.Hosts {
		err = errors.Join(err, h.Close())
	}
	if s.Middle != nil {
		err = errors.Join(err, s.Middle.Close())
	}
	return err
}
