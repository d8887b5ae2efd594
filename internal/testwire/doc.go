// Package testwire lets Ethernet frames meet the rules of package fault in real time.
// A [Line] is one direction of any wire that a test controls; a [Wire] is one between two
// network namespaces, on Linux as root. A [Bottleneck] is a switch between several, whose
// port towards one of them, an [Egress], is too slow.
//
// A frame that is not a RoCEv2 packet meets no rule: ARP, ping and TCP pass as if the
// wire were whole. A packet is corrupted as by a bad cable: its UDP checksum, if it
// has one, is that of the packet before. A kernel's UDP socket never shows such a
// packet; receivers below it have the ICRC to find it out.
package testwire
