// Package raw is the link on an AF_PACKET socket: it sends and receives whole Ethernet
// frames on a network interface, past the kernel's IP. It sees the IPv4 identification
// of what it receives, each QP keeps a source port of its own (ECMP), UDP port 4791
// may be taken by others, and no driver needs to know of it.
//
// Privileges: CAP_NET_RAW in the user namespace that owns the network namespace.
// With CAP_NET_ADMIN the socket's buffers may exceed the sysctls net.core.rmem_max and
// wmem_max, and neighbours are probed by netlink.
//
// Copies per packet: when sending, one from user memory to the kernel for payloads of
// 4 KiB that may be gathered, else two (the first into the link); when receiving, one
// from the kernel to the link, and one by the engine to the memory region.
//
// Several packets to one peer travel as a super-frame, one trip through the kernel,
// where all but the last have one size. That needs Linux 6.2 to send (older kernels
// refuse, and the link sends single frames: see [Link.SuperFrames]) and to receive:
// older kernels cannot say what a super-frame of a peer on the same host is made of
// and drop it, which [Link.Counters] shows. From other hosts frames come one by one,
// unless the kernel merges those of a sender that uses UDP checksums.
//
// Only what a filter in the kernel lets pass reaches the socket: UDP port 4791 to the
// link's addresses. The kernel goes on to see these frames too; the link holds a UDP
// socket on the port so that it does not answer with ICMP errors. All other traffic
// of the interface is as ever.
//
// VLAN: the socket is on the base interface and the link writes and reads the tags
// itself. Peers on the same host are reached through the kernel's loopback interface.
package raw
