package main

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/udp"
)

// openLink opens a link on an address of this host.
type openLink func(netip.Addr) (link.Link, error)

// links are the values of --link.
var links = map[string]openLink{
	"udp": func(a netip.Addr) (link.Link, error) { return udp.Open(a) },
}

func linkNames() string { return strings.Join(slices.Sorted(maps.Keys(links)), ", ") }

func linkByName(name string) (openLink, error) {
	open, ok := links[name]
	if !ok {
		return nil, fmt.Errorf("--link %q: no link to a network has this name; there are: %s", name, linkNames())
	}
	return open, nil
}
