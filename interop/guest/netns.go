//go:build linux

package guest

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

// TapName is the name of the tap device in a guest's Netns.
const TapName = "tap0"

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

// addTap makes the tap device and returns its descriptor, with which the
// device ends.
func (n *Netns) addTap(mtu int) (tap *os.File, err error) {
	err = n.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("guest: open /dev/net/tun: %w", err)
		}
		f := os.NewFile(uintptr(fd), "/dev/net/tun")
		req, err := unix.NewIfreq(TapName)
		if err != nil {
			f.Close()
			return err
		}
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
			f.Close()
			return fmt.Errorf("guest: make a tap device: %w", err)
		}
		if err := configureTap(mtu); err != nil {
			f.Close()
			return err
		}
		tap = f
		return nil
	})
	return tap, err
}

// configureTap gives the tap device its addresses. The caller's thread is in
// the namespace.
func configureTap(mtu int) error {
	ip, err := hostPath("ip")
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "set", TapName, "address", HostMAC.String(), "mtu", fmt.Sprint(mtu)},
		{"addr", "add", HostIPv4.String(), "dev", TapName},
		{"-6", "addr", "add", HostIPv6.String(), "dev", TapName, "nodad"},
		{"link", "set", TapName, "up"},
	} {
		// No context: a command started with one may wait on another thread, but
		// it is the start that must happen on this one, and it does.
		if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("guest: ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}
