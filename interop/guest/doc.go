// Package guest boots a small QEMU virtual machine whose Linux kernel runs
// rdma_rxe, the kernel's software RoCEv2 device, as the peer of the
// interoperability tests.
//
// The pieces, in the order a test meets them:
//
//   - Build makes an image: a kernel from a Debian package pinned in
//     guest.lock, and an initramfs with the RDMA tools of this machine, an
//     agent and a verbs peer. Images are cached by content.
//   - Boot starts QEMU by plain emulation (no KVM needed) with one data NIC,
//     which is on a Wire (the test process is the other end of the cable; no
//     privileges needed), and one control NIC which carries no RDMA. The Wire can
//     lead on to a tap device in a network namespace of its own (root needed),
//     and to a second guest.
//   - Guest.Run, Guest.Start and Guest.Dial run programs in the guest and
//     reach its TCP ports over the control NIC.
//   - Guest.StartPeer starts the verbs peer, which does RC operations one by
//     one under the test's orders.
//
// A guest has the addresses GuestIPv4 and GuestIPv6 on eth0 with the RDMA
// device rxe0 on it; the test's end of the cable has HostIPv4 and HostIPv6. A guest
// without RDMA is for running our own stack on its kernel, which has what the
// machine's may lack: VLANs, bonds, drivers.
//
// Under emulation a guest takes several seconds to boot and moves about
// 10 MB/s, so speeds measured against it say nothing about the stack.
package guest
