package xdp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The kernel frees a queue some time after its last socket was closed, so a queue in
// use is tried again, for two seconds in all.
const (
	bindTries = 200
	bindPause = 10e6 // ns
)

// bind takes the queue.
func (s *socket) bind() (err error) {
	address := unix.SockaddrXDP{
		Flags:   unix.XDP_USE_NEED_WAKEUP | s.flags,
		Ifindex: uint32(s.index),
		QueueID: uint32(s.queue),
	}
	for try := range bindTries {
		if try > 0 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: bindPause}, nil)
		}
		if err = unix.Bind(s.fd, &address); !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("bind: %w", s.explainBind(err))
	}
	return nil
}

// explainBind says what the kernel's error means here.
func (s *socket) explainBind(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("the queue is in use by %s: end that, or use another queue: %w", s.owner(), err)
	case errors.Is(err, unix.EINVAL) && s.flags&unix.XDP_USE_SG == 0:
		return fmt.Errorf("the interface has no such queue (`ethtool -l %s` shows how many): %w", s.itf, err)
	case errors.Is(err, unix.EOPNOTSUPP) && s.flags&unix.XDP_ZEROCOPY != 0:
		return fmt.Errorf("the driver has no zero-copy: allow copying: %w", err)
	}
	return err
}

// explainSocket says what it takes to make an AF_XDP socket.
func explainSocket(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("CAP_NET_RAW is needed: %w", err)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("the kernel was built without CONFIG_XDP_SOCKETS: %w", err)
	}
	return err
}
