package auto

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/xdp"
)

// Wish is what a link is wanted for.
type Wish uint8

// Wishes.
const (
	Bandwidth Wish = iota
	Latency
)

func (w Wish) String() string {
	if w == Latency {
		return "latency"
	}
	return "bandwidth"
}

// Choice is a link and why it is that one.
type Choice struct {
	Link   link.Link
	Name   string    // udp, raw or xdp
	Why    string    // a sentence
	Others []Refusal // the other links, in the order of preference
}

// Refusal is a link that was not taken.
type Refusal struct {
	Name string
	Why  string // a sentence, or the error of opening it
}

// Open opens the best link on a network interface for a wish. On a VLAN sub-interface
// it uses the addresses of that VLAN; on a member of a bond or bridge, that master.
//
// The link has the addresses that are given, the default first. Without any it has all
// of the interface if it is raw or xdp, and one if it is udp: the first IPv4 address,
// else the first global IPv6 address, else the link-local one.
//
// The caller closes the link. If none opens the error has the reasons of all.
func Open(ifname string, wish Wish, addrs ...netip.Addr) (*Choice, error) {
	p, err := survey(ifname, addrs)
	if err != nil {
		return nil, fmt.Errorf("auto: open %s: %w", ifname, err)
	}
	c, err := choose(p, wish, orders[wish])
	if err != nil {
		return nil, fmt.Errorf("auto: no link can be opened on %s: %w", ifname, err)
	}
	return c, nil
}

// choose opens the first of the candidates that can be had.
func choose(p *place, wish Wish, order []candidate) (*Choice, error) {
	var c Choice
	var failures []error
	for i, k := range order {
		if why := k.obstacle(p); why != "" {
			c.refuse(k, why)
			failures = append(failures, fmt.Errorf("%s: %s", k.name, why))
			continue
		}
		l, err := k.open(p)
		if err != nil {
			c.refuse(k, err.Error())
			failures = append(failures, err)
			continue
		}
		c.Link, c.Name, c.Why = l, k.name, p.detour+k.virtue
		if x, ok := l.(*xdp.Link); ok {
			c.Why += fmt.Sprintf(" (%v)", x.Setup())
		}
		for _, rest := range order[i+1:] {
			if why := rest.obstacle(p); why != "" {
				c.refuse(rest, why)
			} else {
				c.refuse(rest, fmt.Sprintf("%s is preferred for %v: %s", k.name, wish, rest.drawback))
			}
		}
		return &c, nil
	}
	return nil, errors.Join(failures...)
}

func (c *Choice) refuse(k candidate, why string) {
	c.Others = append(c.Others, Refusal{k.name, why})
}

// String tells the choice in lines, without a newline at the end.
func (c *Choice) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "chose %s: %s", Describe(c.Link), c.Why)
	for _, r := range c.Others {
		fmt.Fprintf(&b, "\nnot %s: %s", r.Name, r.Why)
	}
	return b.String()
}

// Describe is the name of a link, and of an xdp link how it works, such as
// "xdp eth0, native, zero-copy".
func Describe(l link.Link) string {
	x, ok := l.(*xdp.Link)
	if !ok {
		return l.Name()
	}
	copies := "copy"
	if x.Setup().ZeroCopy {
		copies = "zero-copy"
	}
	return fmt.Sprintf("%s, %v, %s", l.Name(), x.Setup().Mode, copies)
}
