package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const current = "/proc/thread-self/ns/net"

// Netns is a network namespace. Its methods are safe for concurrent use.
type Netns struct{ f *os.File }

// New makes a namespace in which the loopback interface is up.
func New() (*Netns, error) {
	type result struct {
		f   *os.File
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		f, err := unshare()
		made <- result{f, err}
	}()
	r := <-made
	if r.err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", r.err)
	}
	return &Netns{r.f}, nil
}

// unshare moves the thread into a new namespace and opens it.
func unshare() (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("unshare: %w (run as root, or with CAP_SYS_ADMIN)", err)
	}
	if _, err := SetUp("lo"); err != nil {
		return nil, err
	}
	return os.Open(current)
}

// Do calls fn on a thread that is in the namespace. Sockets that fn makes, and
// commands it starts, belong to the namespace for good; goroutines that fn starts do
// not. With package net use numeric addresses only: looking up names starts
// goroutines.
func (n *Netns) Do(fn func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(current)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(n.f.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network namespace: %w", err)
	}
	failure := fn()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		// The thread stays locked and ends with its goroutine.
		return errors.Join(failure, fmt.Errorf("leave the network namespace: %w", err))
	}
	runtime.UnlockOSThread()
	return failure
}

// Start starts a program in the namespace.
func (n *Netns) Start(c *exec.Cmd) error { return n.Do(c.Start) }

// Run runs a program in the namespace and returns what it printed. The error of one
// that fails has its last words.
func (n *Netns) Run(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = &out, &out
	if err := n.Start(c); err != nil {
		return "", err
	}
	if err := c.Wait(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", c, err, out.String())
	}
	return out.String(), nil
}

// Close lets go of the namespace. It ends, with the interfaces in it, when no socket
// and no process is in it either.
func (n *Netns) Close() error { return n.f.Close() }
