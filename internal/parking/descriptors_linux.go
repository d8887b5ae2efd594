package parking

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptors are the file descriptors of a Spot. Whoever uses one by its number, or
// a socket whose life the Spot's ends, is between Enter and Leave, so that Close
// cannot free the number for another file meanwhile.
type descriptors struct {
	inUse  sync.RWMutex
	closed bool

	timer int // timerfd: the deadline
	event int // eventfd: Wake
	epoll int // watches these and the sockets

	// file is the epoll in the hands of Go's poller, which owns it.
	file *os.File
	wait syscall.RawConn
}

// What the epoll says of a descriptor that is no socket, in place of its number.
const (
	timerFired int32 = -1 - iota
	eventFired
)

// open makes all, or leaves none.
func (d *descriptors) open() error {
	d.timer, d.event, d.epoll = -1, -1, -1
	if err := d.make(); err != nil {
		return errors.Join(fmt.Errorf("parking: %w", err), d.Close())
	}
	return nil
}

func (d *descriptors) make() (err error) {
	if d.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return fmt.Errorf("timerfd: %w", err)
	}
	if d.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if d.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	// Edge-triggered: nobody needs to read them empty.
	if err = d.add(d.timer, unix.EPOLLIN|unix.EPOLLET, timerFired); err != nil {
		return err
	}
	if err = d.add(d.event, unix.EPOLLIN|unix.EPOLLET, eventFired); err != nil {
		return err
	}
	return d.handOver()
}

// add has the epoll watch a descriptor, and call it name.
func (d *descriptors) add(fd int, events uint32, name int32) error {
	if err := unix.EpollCtl(d.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: name}); err != nil {
		return fmt.Errorf("epoll: watch descriptor %d: %w", fd, err)
	}
	return nil
}

// handOver gives the epoll, and only it, to Go's poller.
func (d *descriptors) handOver() (err error) {
	if err = unix.SetNonblock(d.epoll, true); err != nil {
		return fmt.Errorf("epoll: set non-blocking: %w", err)
	}
	d.file = os.NewFile(uintptr(d.epoll), "epoll of a link")
	if d.wait, err = d.file.SyscallConn(); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// Enter reports whether the Spot is open, and keeps it so until Leave: Close waits.
func (d *descriptors) Enter() bool {
	d.inUse.RLock()
	if d.closed {
		d.inUse.RUnlock()
		return false
	}
	return true
}

// Leave ends what Enter began.
func (d *descriptors) Leave() { d.inUse.RUnlock() }

// Close closes the Spot, once; a Park in progress returns. Afterwards nothing of the
// Spot touches a socket any more.
func (d *descriptors) Close() error {
	d.inUse.Lock()
	defer d.inUse.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var errs []error
	if d.file != nil {
		errs = append(errs, d.file.Close()) // waits for Park to let go
	} else if d.epoll >= 0 {
		errs = append(errs, unix.Close(d.epoll))
	}
	for _, fd := range []int{d.timer, d.event} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
