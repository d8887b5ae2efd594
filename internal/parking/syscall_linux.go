package parking

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Both calls are non-blocking, so they are raw: the scheduler need not know of them.

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
