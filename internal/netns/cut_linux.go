package netns

import (
	"errors"
	"fmt"
	"os"
)

// CutStreet is a street whose cable is cut in the middle: each host's interface is
// joined to one in a third namespace, and nothing joins these two.
type CutStreet struct {
	*Street
	Middle     *Netns
	EndA, EndB string // the interfaces in the middle: ma, joined to va, and mb, joined to vb
}

// NewCutStreet makes two hosts as [NewStreet] does, which do not reach each other. The
// middle has no addresses, and sends nothing by itself.
func NewCutStreet(o Options) (*CutStreet, error) {
	street, err := newStreet()
	if err != nil {
		return nil, err
	}
	middle, err := New()
	if err != nil {
		return nil, errors.Join(err, street.Close())
	}
	c := &CutStreet{Street: street, Middle: middle, EndA: "ma", EndB: "mb"}
	if err := c.lay(o); err != nil {
		return nil, errors.Join(fmt.Errorf("join two network namespaces to a third: %w", err), c.Close())
	}
	return c, nil
}

// lay lays the two halves of the cable.
func (c *CutStreet) lay(o Options) error {
	if err := c.Middle.Do(noIPv6); err != nil {
		return err
	}
	for _, half := range []struct {
		host *Host
		end  string
	}{{c.A, c.EndA}, {c.B, c.EndB}} {
		if err := join(half.host, &Host{Netns: c.Middle, Interface: half.end}, o); err != nil {
			return err
		}
	}
	return c.addAddresses()
}

// noIPv6 keeps interfaces to come from having IPv6 addresses, and looking for others.
func noIPv6() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
}

// Close lets go of both hosts and the middle.
func (c *CutStreet) Close() error { return errors.Join(c.Street.Close(), c.Middle.Close()) }
