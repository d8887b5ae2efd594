package mmsg

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Message is struct mmsghdr of the kernel. What it points to must outlive the call
// and lie in memory that does not move: in the queue, not on a stack.
type Message struct {
	unix.Msghdr
	N uint32 // bytes sent or received
}

// Both calls are for non-blocking sockets, so they are raw: the scheduler need not
// know of them, and an ordinary Syscall would let it take the processor away, which
// shows as tail latency.

// Send sends messages and returns how many the socket took.
func Send(fd int, msgs []Message) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}

// Recv receives into messages and returns how many were set.
func Recv(fd int, msgs []Message) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}

// SetPiece makes v refer to b, which must not be empty.
func SetPiece(v *unix.Iovec, b []byte) {
	v.Base = &b[0]
	v.SetLen(len(b))
}
