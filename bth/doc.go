// Package bth holds the InfiniBand transport headers of RoCEv2: the base
// transport header (BTH), its extension headers, the opcode property table, PSN
// arithmetic and AETH syndromes.
//
// It is a pure codec: no clock, no I/O, no allocation. A [Packet] is a parsed view
// of one packet from the BTH to the end of the pad; the four bytes of ICRC that
// follow on the wire belong to package wire, which knows the IP header they cover.
//
// The one invariant: what [Packet.Parse] accepts, [Packet.PutHeaders] rebuilds
// bit for bit, reserved bits aside (they are ignored on receive and sent as zero,
// IBTA vol. 1, 9.2).
//
// All multi-byte fields are big endian on the wire and host integers here.
package bth
