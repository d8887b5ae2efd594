package hostnet

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is a descriptor of a network namespace.
type namespace int

const noNamespace namespace = -1

const threadNamespace = "/proc/thread-self/ns/net"

// currentNamespace returns that of the calling thread.
func currentNamespace() (namespace, error) {
	fd, err := unix.Open(threadNamespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return noNamespace, fmt.Errorf("open %s: %w; is /proc mounted?", threadNamespace, err)
	}
	return namespace(fd), nil
}

// do calls f on a thread that is in the namespace. Where all threads of a process are
// in one namespace that needs no privilege.
func (n namespace) do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if n.isCurrent() {
		return f()
	}
	result := make(chan error)
	go func() {
		// Never unlocked: the thread, which is in another namespace than the rest,
		// ends with the goroutine.
		runtime.LockOSThread()
		if err := unix.Setns(int(n), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter the network namespace in which this was opened: %w", err)
			return
		}
		result <- f()
	}()
	return <-result
}

func (n namespace) isCurrent() bool {
	var mine, its unix.Stat_t
	return unix.Stat(threadNamespace, &mine) == nil && unix.Fstat(int(n), &its) == nil &&
		mine.Dev == its.Dev && mine.Ino == its.Ino
}

func (n namespace) close() error {
	if n == noNamespace {
		return nil
	}
	return unix.Close(int(n))
}
