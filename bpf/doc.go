// Package bpf is the XDP program that shares an interface between the host and the
// AF_XDP sockets of package xdp, and its loader (Linux).
//
// The program, filter.c, looks at every packet that arrives: RoCEv2 (UDP port 4791)
// to one of the link's addresses goes to the socket of the queue it arrived on. All
// else is the host's: other protocols and ports, fragments, IPv4 options, IPv6
// extension headers, other addresses, queues without a socket.
//
// A VLAN tag makes no difference here: the address alone decides. Package xdp drops,
// and counts, what comes on another VLAN than that of its address.
//
// The compiled objects are part of the source. `make bpf` makes them again.
package bpf
