// Package wire knows what lies around a transport packet on the wire: Ethernet
// with VLAN, IPv4 and IPv6, UDP, the ECN field, GIDs, and the invariant CRC.
//
// It is pure: views and templates over bytes, no I/O, no allocation on the way of a
// packet. Multi-byte fields are big endian on the wire and host integers here; only
// the ICRC goes out low byte first.
//
//   - [Path] addresses one peer. [Path.Seal] is the one place where packets for the
//     wire get their ICRC, so every link sends the same.
//   - [Verifier] checks the ICRC of what arrives, also where the kernel hides the
//     IPv4 identification that it covers; [Flow] is the arithmetic behind both.
//   - [ParseFrame] and [ParseIP] read hostile bytes, [Headers] writes them,
//     [Template] writes them fast.
//   - [SourcePort], [GID] and [ECN] are the small conventions of RoCEv2.
package wire
