package hostnet

import (
	"fmt"
	"net/netip"

	"github.com/rocinante-rdma/roce/wire"
)

// ChangeKind says what changed.
type ChangeKind uint8

// Kinds of changes.
const (
	LinkChanged      ChangeKind = iota // an interface is new, or its Up, MTU or MAC changed
	LinkDeleted                        // an interface was deleted, or moved to another namespace
	AddrAdded                          // an interface got Addr
	AddrRemoved                        // an interface lost Addr
	NeighbourChanged                   // the neighbour Addr has the (valid) MAC now
	NeighbourLost                      // nobody answers for the neighbour Addr, or it was forgotten
)

// Change is one difference between what the host's network was and what it is.
type Change struct {
	Kind    ChangeKind
	IfIndex int
	Up      bool       // of LinkChanged: as Interface.Up
	MTU     int        // of LinkChanged: bytes
	Addr    netip.Addr // of addresses and neighbours; unmapped, without zone
	MAC     wire.MAC   // of LinkChanged: the interface's; of NeighbourChanged: the neighbour's
}

func (c Change) String() string {
	switch c.Kind {
	case LinkChanged:
		state := "down"
		if c.Up {
			state = "up"
		}
		return fmt.Sprintf("interface %d is %s, MTU %d, MAC %v", c.IfIndex, state, c.MTU, c.MAC)
	case LinkDeleted:
		return fmt.Sprintf("interface %d was deleted", c.IfIndex)
	case AddrAdded:
		return fmt.Sprintf("interface %d got the address %v", c.IfIndex, c.Addr)
	case AddrRemoved:
		return fmt.Sprintf("interface %d lost the address %v", c.IfIndex, c.Addr)
	case NeighbourChanged:
		return fmt.Sprintf("interface %d: neighbour %v is at %v", c.IfIndex, c.Addr, c.MAC)
	default:
		return fmt.Sprintf("interface %d: neighbour %v does not answer", c.IfIndex, c.Addr)
	}
}
