//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Netns is a network namespace of the harness with one tap device, TapName,
// which has HostIPv4, HostIPv6 and HostMAC; the guest's data NIC is its other
// end. It has no name and lasts as long as the harness holds it.
type Netns struct {
	f *os.File
}

// newNetns makes a namespace. A thread of its own unshares and then ends, so
// that no other goroutine ever runs on it.
func newNetns() (*Netns, error) {
	type result struct {
		f   *os.File
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			made <- result{nil, fmt.Errorf("guest: a tap device needs a network namespace of its own: unshare: %w (are you root? OnWire needs no privileges)", err)}
			return
		}
		f, err := os.Open(currentNetns)
		made <- result{f, err}
	}()
	r := <-made
	if r.err != nil {
		return nil, r.err
	}
	return &Netns{r.f}, nil
}

const currentNetns = "/proc/thread-self/ns/net"

// Do calls fn on a thread that is in the namespace. Sockets that fn makes, and
// commands it starts, belong to the namespace for good; goroutines that fn
// starts do not. With package net use numeric addresses only: looking up names
// starts goroutines.
func (n *Netns) Do(fn func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(currentNetns)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(n.f.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("guest: enter the network namespace: %w", err)
	}
	ferr := fn()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		// The thread stays locked and ends with its goroutine.
		return errors.Join(ferr, fmt.Errorf("guest: leave the network namespace: %w", err))
	}
	runtime.UnlockOSThread()
	return ferr
}

// Command is exec.CommandContext for a program that shall run in the
// namespace.
func (n *Netns) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + n.Path(), name}, args...)...)
}

// Path is a path of the namespace for programs that enter it themselves. It is
// valid while this process runs and the guest is open.
func (n *Netns) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.f.Fd()) }

func (n *Netns) close() error { return n.f.Close() }
