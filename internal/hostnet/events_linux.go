package hostnet

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// events is a netlink socket to which the kernel tells what changes (rtnetlink(7)).
type events struct {
	file *os.File
	conn syscall.RawConn
	buf  []byte
}

// eventGroups are the groups of messages, as bits of nl_groups.
const eventGroups = 1<<(unix.RTNLGRP_LINK-1) | 1<<(unix.RTNLGRP_NEIGH-1) |
	1<<(unix.RTNLGRP_IPV4_IFADDR-1) | 1<<(unix.RTNLGRP_IPV6_IFADDR-1)

// subscribe opens one in the calling thread's network namespace.
func subscribe() (*events, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket, to see the network change: %w", err)
	}
	file := os.NewFile(uintptr(fd), "netlink")
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: eventGroups}); err != nil {
		file.Close()
		return nil, fmt.Errorf("subscribe to the kernel's network changes: %w", err)
	}
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("watch the netlink socket: %w", err)
	}
	return &events{file, conn, make([]byte, 64<<10)}, nil
}

// receive waits for messages. The error is ENOBUFS when the kernel had no room for
// some; all others are final.
func (e *events) receive() (messages []syscall.NetlinkMessage, err error) {
	var n int
	var from unix.Sockaddr
	waiting := e.conn.Read(func(fd uintptr) bool {
		n, from, err = unix.Recvfrom(int(fd), e.buf, 0)
		return err != unix.EAGAIN
	})
	if waiting != nil {
		return nil, waiting
	}
	if err != nil || !isKernel(from) {
		return nil, err
	}
	return syscall.ParseNetlinkMessage(e.buf[:n])
}

// isKernel is false for other processes, which may send to the socket too.
func isKernel(from unix.Sockaddr) bool {
	a, ok := from.(*unix.SockaddrNetlink)
	return ok && a.Pid == 0
}

// drain throws away what was not received yet.
func (e *events) drain() {
	// An error means that the socket was closed: the next receive says so.
	_ = e.conn.Read(func(fd uintptr) bool {
		for {
			if _, _, err := unix.Recvfrom(int(fd), e.buf, 0); err != nil && err != unix.ENOBUFS {
				return true
			}
		}
	})
}

// close wakes a receive that waits.
func (e *events) close() error { return e.file.Close() }
