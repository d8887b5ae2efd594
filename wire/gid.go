package wire

import "net/netip"

// GID is a global identifier of RoCEv2: an IPv6 address, or an IPv4 address in the
// form ::ffff:a.b.c.d (IBTA annex A17). Network byte order, as on the wire.
type GID [16]byte

// GIDOf returns the GID of an address; zones are dropped.
func GIDOf(a netip.Addr) GID { return a.As16() }

// Addr returns the address that packets to the GID carry, IPv4 as 4 bytes.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// String prints the GID as ibv_devinfo does: "::ffff:10.0.0.1", "fd00::1".
func (g GID) String() string { return netip.AddrFrom16(g).String() }
