package xdp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// withMemlock calls something that pins memory of size bytes; if the limit of locked
// memory is in the way, it raises that as far as it may and calls again. Before
// Linux 5.11 programs and maps are charged too, and the kernel then says EPERM.
func withMemlock(size int, call func() error) error {
	err := call()
	if !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EPERM) {
		return err
	}
	limit := raiseMemlock()
	if err = call(); errors.Is(err, unix.ENOBUFS) {
		return fmt.Errorf("the limit of locked memory is %s and may not be raised, "+
			"%d bytes are wanted beyond what this user has locked: "+
			"raise RLIMIT_MEMLOCK (ulimit -l, LimitMEMLOCK=) or give CAP_IPC_LOCK: %w", limit, size, err)
	}
	return err
}

// raiseMemlock lifts the process's limit of locked memory, which takes
// CAP_SYS_RESOURCE, or raises it up to the hard limit, which takes nothing; and
// returns what it is then, in words.
func raiseMemlock() (limit string) {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &now); err != nil {
		return "unknown"
	}
	for _, want := range []unix.Rlimit{{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, {Cur: now.Max, Max: now.Max}} {
		if unix.Setrlimit(unix.RLIMIT_MEMLOCK, &want) == nil {
			now = want
			break
		}
	}
	if now.Cur == unix.RLIM_INFINITY {
		return "lifted"
	}
	return fmt.Sprintf("%d bytes", now.Cur)
}
