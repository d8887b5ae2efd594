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
// # Super-frames
//
// Packets that are flushed together, go to the same address and have the same length
// go to the kernel as one message, a super-frame, which it cuts by itself
// (UDP_SEGMENT, since Linux 4.18) and numbers from 0: the ICRCs are made for that. The
// last one may be shorter; there are 128 of them at most, 64 before Linux 6.10, and 64
// KiB. To receivers they are single packets, unless these ask for super-frames too
// (UDP_GRO, since 5.0), as this link does. Over the loopback interface, a veth pair
// and network cards that cut by themselves, all packets of a super-frame cost about as
// much as one. The kernel computes the UDP checksum of what it sends so.
//
// Where the kernel, a device or IPsec takes no super-frames, the link notices and
// sends single packets: see [Stats].SuperRefused and SuperUnknown.
//
// # Copies
//
// Payload of 4 KiB in one piece goes from the caller's memory to the kernel's, all
// else by way of the link's. Received packets are the kernel's copy in the link's
// memory.
//
// The link works on Linux only: other systems give no way to know the IPv4
// identification that a packet will carry.
package udp
