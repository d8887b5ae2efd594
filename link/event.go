package link

import (
	"fmt"
	"net/netip"
)

// State is whether a link can carry packets now. The words are ibv_port_state's.
type State uint8

// States.
const (
	Active State = iota // packets pass
	Down                // the interface is down or has no carrier: it may come back
	Gone                // the interface was deleted: this link never works again
)

func (s State) String() string {
	switch s {
	case Active:
		return "ACTIVE"
	case Down:
		return "DOWN"
	default:
		return "GONE"
	}
}

// EventKind says what changed below a link. In brackets the name of the verbs'
// asynchronous event.
type EventKind uint8

// Kinds of events.
const (
	PortActive  EventKind = iota // packets pass again [IBV_EVENT_PORT_ACTIVE]
	PortDown                     // the interface went down [IBV_EVENT_PORT_ERR]
	DeviceGone                   // the interface was deleted [IBV_EVENT_DEVICE_FATAL]
	AddrAdded                    // Addr is a local address again [IBV_EVENT_GID_CHANGE]
	AddrRemoved                  // Addr is no local address any more [IBV_EVENT_GID_CHANGE]
	PeerMoved                    // the next hop towards Addr has another MAC: paths to it were changed
	MTUChanged                   // the interface's MTU changed; the link keeps that of its opening
)

// Event is a change of the host's network below a link.
type Event struct {
	Kind EventKind
	Addr netip.Addr // of AddrAdded, AddrRemoved and PeerMoved
	MTU  int        // of MTUChanged: the new one, bytes
}

func (e Event) String() string {
	switch e.Kind {
	case PortActive:
		return "port active"
	case PortDown:
		return "port down"
	case DeviceGone:
		return "device gone: its interface was deleted"
	case AddrAdded:
		return fmt.Sprintf("address %v added", e.Addr)
	case AddrRemoved:
		return fmt.Sprintf("address %v removed: peers cannot reach it", e.Addr)
	case PeerMoved:
		return fmt.Sprintf("the next hop towards %v moved to another MAC", e.Addr)
	default:
		return fmt.Sprintf("link MTU changed to %d", e.MTU)
	}
}

// Watched is implemented by links that see the host's network change. Any goroutine
// may call its methods.
type Watched interface {
	// State is the current one.
	State() State
	// Events is the link's one channel of events, closed by Close. Of events that
	// nobody takes the oldest are kept, up to its capacity; State is always true.
	Events() <-chan Event
}
