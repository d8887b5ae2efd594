package udp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the hot path. All are non-blocking, so they are raw: the scheduler
// need not know of them, and an ordinary Syscall would let it take the processor
// away, which shows as tail latency. What they point to lies in the queue, which
// outlives the call.

// mmsghdr is struct mmsghdr of the kernel.
type mmsghdr struct {
	unix.Msghdr
	n uint32 // bytes sent or received
}

func sendmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}

func recvmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}

// epollPoll collects what is ready and does not wait.
func epollPoll(fd int, events []unix.EpollEvent) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

// eventAdd adds one to an eventfd.
func eventAdd(fd int) {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
