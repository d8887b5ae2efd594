// Package auto chooses the link to a network: kernel UDP, AF_PACKET or AF_XDP, by what
// is wished for and by what kernel, driver and privileges allow, and says what it chose
// and why, and why not another. It finds out what is allowed by opening links in the
// order of preference: the first that opens is taken.
//
// For bandwidth the order is udp, raw, xdp: what counts is how many packets share one
// trip through the kernel (super-frames). For latency it is xdp, udp, raw: what counts
// is how short that trip is. docs/links.md compares them.
//
// Some links are not even tried:
//
//   - on the loopback interface raw and xdp: there are no frames
//   - udp for more than one address: its socket has one
//   - xdp for an address on a VLAN whose tags the interface takes off before XDP sees
//     them, and on a bond, since packets arrive at its members, whose sockets AF_XDP
//     would want
//
// XDP's generic mode is never chosen: it drops the super-frames of peers on the same
// host. An interface that belongs to a bond or bridge stands for that master, which has
// the addresses.
package auto
