// Package wire knows what lies around a transport packet on the wire: Ethernet
// with VLAN, IPv4 and IPv6, UDP, the ECN field, GIDs, and the invariant CRC.
//
// It is pure: views and templates over bytes, no I/O. One place seals packets
// ([Path.Seal]), so every link sends the same ICRC.
package wire
