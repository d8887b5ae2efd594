// Package xdp is the link on AF_XDP sockets: packets travel in memory shared with the
// kernel, past its IP and its socket buffers. Of all links it has the lowest latency.
//
// An XDP program (package bpf) on the interface gives RoCEv2 packets (UDP port 4791)
// to the link's addresses to the sockets and leaves all else to the host, which lives
// on beside. It is attached by a link of the kernel's: it never evicts another
// program, and no crash leaves it behind.
//
// Privileges: CAP_NET_RAW for the sockets, CAP_NET_ADMIN and CAP_BPF for the program.
// Without CAP_IPC_LOCK each queue's 12 MiB count against RLIMIT_MEMLOCK, which Open
// raises if it may.
//
// Kernels: Linux 5.9 attaches the program. Linux 5.18 and a driver with multi-buffer
// XDP let it run in the driver at any MTU; where it cannot run there it runs behind
// the driver. Linux 6.6 receives and sends packets in several chunks of 4096 bytes;
// without that, or where zero-copy is asked of a driver that has it for single chunks
// only, the link's MTU is 3502 and the path MTU 2048. [Setup] says what was had.
//
// Copies per packet: sending, one from user memory into a chunk, and one by the
// kernel from there unless the driver has zero-copy; receiving, one by the kernel into
// a chunk, unless zero-copy, and one by the engine to the memory region.
//
// Queues: one socket per queue of the interface, each with 2048 chunks to receive and
// 1024 to send. What the peers have under way to one queue should be no more than 512
// packets of two chunks, or 1024 of one: half of the chunks, since the rest may not
// have come back yet. A path sends on one queue, chosen by its source port.
//
// Ownership: rings and chunks belong to the one engine shard that drives the queue and
// calls its methods under its lock; sending and receiving from two goroutines without
// that lock is a data race. Received bytes are the link's again after Release; a slot
// is the link's from Flush on. Build with the tag xdpdebug to have every chunk's owner
// watched, at some cost: an illegal move panics.
//
// VLAN: the link reads and writes tags itself. A driver that takes them off before
// XDP sees the packet hides them: turn that off (ethtool -K eth0 rxvlan off).
package xdp
