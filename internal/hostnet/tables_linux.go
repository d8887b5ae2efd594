package hostnet

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/wire"
)

// tables are what a monitor knows of the host's network.
type tables struct {
	links      map[int]linkState
	addrs      map[onLink]struct{}
	neighbours map[onLink]wire.MAC // those with a valid MAC
}

type linkState struct {
	up  bool
	mtu int
	mac wire.MAC
}

// onLink is an address on an interface.
type onLink struct {
	ifindex int
	addr    netip.Addr
}

func newTables() *tables {
	return &tables{map[int]linkState{}, map[onLink]struct{}{}, map[onLink]wire.MAC{}}
}

// apply makes a change to the tables and reports whether it was one: the kernel tells
// much that is no news here.
func (t *tables) apply(c Change) bool {
	key := onLink{c.IfIndex, c.Addr}
	switch c.Kind {
	case LinkChanged:
		return put(t.links, c.IfIndex, linkState{c.Up, c.MTU, c.MAC})
	case LinkDeleted:
		return take(t.links, c.IfIndex)
	case AddrAdded:
		return put(t.addrs, key, struct{}{})
	case AddrRemoved:
		return take(t.addrs, key)
	case NeighbourChanged:
		return put(t.neighbours, key, c.MAC)
	default:
		return take(t.neighbours, key)
	}
}

// without lists what is in the tables and no longer in those that were read now: the
// changes that take it away, what lies on an interface before the interface.
func (t *tables) without(now *tables) (gone []Change) {
	for key := range t.neighbours {
		if _, ok := now.neighbours[key]; !ok {
			gone = append(gone, Change{Kind: NeighbourLost, IfIndex: key.ifindex, Addr: key.addr})
		}
	}
	for key := range t.addrs {
		if _, ok := now.addrs[key]; !ok {
			gone = append(gone, Change{Kind: AddrRemoved, IfIndex: key.ifindex, Addr: key.addr})
		}
	}
	for index := range t.links {
		if _, ok := now.links[index]; !ok {
			gone = append(gone, Change{Kind: LinkDeleted, IfIndex: index})
		}
	}
	return gone
}

func put[K, V comparable](m map[K]V, k K, v V) bool {
	old, ok := m[k]
	m[k] = v
	return !ok || old != v
}

func take[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	delete(m, k)
	return ok
}
