package devices

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/internal/nic"
	"github.com/rocinante-rdma/roce/internal/uname"
)

func findNeeds(i *hostnet.Interface) needs {
	return needs{
		nic:      openNIC(i.Name),
		socket:   makeXDPSocket(),
		netAdmin: capable(unix.CAP_NET_ADMIN),
		bpf:      capable(unix.CAP_BPF) || capable(unix.CAP_SYS_ADMIN),
		release:  uname.Release(),
		program:  i.XDPProgram,
		mtu:      i.MTU,
	}
}

func openNIC(name string) error {
	n, err := nic.Open(nic.Options{Interface: name})
	if err != nil {
		return err
	}
	return n.Close()
}

// makeXDPSocket makes a socket that is bound to no queue.
func makeXDPSocket() error {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: CAP_NET_RAW is missing", err)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("%w: the kernel was built without CONFIG_XDP_SOCKETS", err)
	case err != nil:
		return err
	}
	return unix.Close(fd)
}

// capable reports whether the calling thread has a capability in effect.
func capable(number int) bool {
	var sets [2]unix.CapUserData
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if unix.Capget(&head, &sets[0]) != nil {
		return false
	}
	return sets[number/32].Effective&(1<<(number%32)) != 0
}
