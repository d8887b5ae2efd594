package udp

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptors are the file descriptors of a queue: the socket, and what parking
// needs. Whoever uses one by its number is between enter and leave, so that close
// cannot free the number for another file meanwhile.
type descriptors struct {
	inUse  sync.RWMutex
	closed bool

	sock  int
	timer int // timerfd: the deadline
	event int // eventfd: Wake
	epoll int // watches the three

	// ready is the epoll descriptor in the hands of Go's poller, which owns it.
	ready *os.File
	wait  syscall.RawConn
}

// openDescriptors takes the socket over, also when it fails.
func openDescriptors(sock int) (*descriptors, error) {
	d := &descriptors{sock: sock, timer: -1, event: -1, epoll: -1}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *descriptors) open() (err error) {
	if d.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return fmt.Errorf("timerfd: %w", err)
	}
	if d.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if d.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if err = d.watch(); err != nil {
		return fmt.Errorf("epoll: watch: %w", err)
	}
	return d.handOver()
}

// watch adds the three to the epoll. The socket is asleep until the queue parks.
// Timer and event are edge-triggered: nobody needs to read them empty.
func (d *descriptors) watch() error {
	for fd, events := range map[int]uint32{
		d.sock:  unix.EPOLLONESHOT,
		d.timer: unix.EPOLLIN | unix.EPOLLET,
		d.event: unix.EPOLLIN | unix.EPOLLET,
	} {
		if err := unix.EpollCtl(d.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
			return err
		}
	}
	return nil
}

// handOver gives the epoll descriptor, and only it, to Go's poller.
func (d *descriptors) handOver() (err error) {
	if err = unix.SetNonblock(d.epoll, true); err != nil {
		return fmt.Errorf("epoll: set non-blocking: %w", err)
	}
	d.ready = os.NewFile(uintptr(d.epoll), "epoll of a UDP link")
	if d.wait, err = d.ready.SyscallConn(); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// enter reports whether the descriptors are open, and keeps them so until leave.
func (d *descriptors) enter() bool {
	d.inUse.RLock()
	if d.closed {
		d.inUse.RUnlock()
		return false
	}
	return true
}

func (d *descriptors) leave() { d.inUse.RUnlock() }

// close closes all, once; a wait for the epoll ends.
func (d *descriptors) close() error {
	d.inUse.Lock()
	defer d.inUse.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var errs []error
	for _, fd := range []int{d.sock, d.timer, d.event} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	switch {
	case d.ready != nil:
		errs = append(errs, d.ready.Close())
	case d.epoll >= 0:
		errs = append(errs, unix.Close(d.epoll))
	}
	return errors.Join(errs...)
}
