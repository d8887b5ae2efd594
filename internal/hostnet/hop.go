package hostnet

import "net/netip"

// Hop is the first step of a way to an address.
type Hop struct {
	IfIndex int        // interface to send through
	Local   bool       // the destination is an address of this host
	Next    netip.Addr // whose MAC to send to: the gateway, or the destination on the link; without zone
	MTU     int        // bytes of an IP packet on this way: the route's, else the interface's
}
