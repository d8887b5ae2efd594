// Package nic is what links below the kernel's IP have in common: package link/raw
// on AF_PACKET and package xdp on AF_XDP. It knows the interface with its addresses
// and VLANs, resolves peers through the kernel into header templates and swaps those
// when a MAC changes, parses frames, talks to peers on the same host, and keeps the
// kernel from answering RoCEv2 packets with ICMP. What is left to a link is a [Port]:
// how frames get to the interface and back.
package nic
