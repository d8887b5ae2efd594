package sockopt

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// GrowReceive asks for a receive buffer of so many bytes and takes what the kernel
// gives: beyond the sysctl net.core.rmem_max with CAP_NET_ADMIN, up to it without.
func GrowReceive(fd, bytes int) { grow(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, bytes) }

// GrowSend is GrowReceive for the send buffer, and the sysctl net.core.wmem_max.
func GrowSend(fd, bytes int) { grow(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, bytes) }

func grow(fd, force, ordinary, bytes int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, ordinary, bytes)
	}
}

// AttachFilter has the socket drop what a program returns 0 for. What was received
// before stays.
func AttachFilter(fd int, program []bpf.Instruction) error {
	code, err := bpf.Assemble(program)
	if err != nil {
		return fmt.Errorf("assemble a socket filter: %w", err)
	}
	filter := make([]unix.SockFilter, len(code))
	for i, in := range code {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	if err != nil {
		return fmt.Errorf("attach a socket filter of %d instructions: %w", len(filter), err)
	}
	return nil
}
