// Package udp is the link over the kernel's UDP socket. It needs no privileges, no
// driver and no module.
//
// The socket is never connected and always forbids fragmentation, because Linux
// then sends IPv4 identification 0, which the ICRC covers: a connected socket
// counts from a random start that nobody can see. What a UDP socket cannot do, the
// link says honestly:
//
//   - It does not see the identification of received packets (Meta.IDKnown is
//     false): the engine infers it from the ICRC, at the price told at
//     wire.Verifier. IPv6 has no identification, so nothing is lost there.
//   - It owns UDP port 4791 of one address. The kernel module rdma_rxe, and any
//     other process, may own it already: see [ErrPortInUse].
//   - All its packets have source port 4791, so all QPs share one ECMP path.
//   - An ICMP error may be returned by any call on the socket, so a packet that the
//     kernel refuses is counted and dropped, never a failure of the link: see
//     [Link.LastRefusal].
//
// One packet is one datagram. The link works on Linux only: other systems give no
// way to know the IPv4 identification that a packet will carry.
package udp
