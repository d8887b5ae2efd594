package xdp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the hot path. They do not block, so they are raw: the scheduler need
// not know of them, and an ordinary Syscall would let it take the processor away,
// which shows as tail latency.

// kickTx has the kernel look at the TX ring.
func kickTx(fd int) syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// kickRx has the driver look at the fill ring.
func kickRx(fd int) {
	poll := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	var now unix.Timespec
	unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
}

// setsockopt sets an option of level SOL_XDP.
func setsockopt(fd, option int, value unsafe.Pointer, size uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option), uintptr(value), size, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// getsockopt reads an option of level SOL_XDP. Older kernels fill in less than size.
func getsockopt(fd, option int, value unsafe.Pointer, size uintptr) error {
	n := uint32(size)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(value), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
