package xdp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
)

// owner describes who has the queue that this socket is refused.
func (s *socket) owner() string {
	sockets, err := netlink.SocketDiagXDP()
	if err != nil {
		// No CONFIG_XDP_SOCKETS_DIAG: the kernel does not say which socket it is.
		return "an AF_XDP socket; there are some of " + list(holders(""))
	}
	for _, other := range sockets {
		if i := other.XDPInfo; i != nil && int(i.Ifindex) == s.index && int(i.QueueID) == s.queue {
			return list(holders(fmt.Sprintf("socket:[%d]", other.XDPDiagMsg.Ino)))
		}
	}
	return "an AF_XDP socket that is being closed, or is in another network namespace"
}

// holders are the processes that have an AF_XDP socket, or one with a name such as
// "socket:[17]": its fill ring is mapped into their memory.
func holders(socket string) (processes []string) {
	const offset = "100000000" // XDP_UMEM_PGOFF_FILL_RING
	maps, _ := filepath.Glob("/proc/[0-9]*/maps")
	for _, path := range maps {
		mappings, err := os.ReadFile(path)
		if err != nil {
			continue // ended, or another user's
		}
		has := func(mapping string) bool {
			f := strings.Fields(mapping)
			return len(f) == 6 && f[2] == offset && strings.HasPrefix(f[5], "socket:") && (socket == "" || f[5] == socket)
		}
		if slices.ContainsFunc(strings.Split(string(mappings), "\n"), has) {
			processes = append(processes, describe(filepath.Base(filepath.Dir(path))))
		}
	}
	return processes
}

// describe names a process.
func describe(pid string) string {
	if pid == fmt.Sprint(os.Getpid()) {
		return "this process"
	}
	name, _ := os.ReadFile("/proc/" + pid + "/comm")
	return fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(string(name)))
}

func list(processes []string) string {
	if len(processes) == 0 {
		return "a process that cannot be seen from here"
	}
	return strings.Join(processes, ", ")
}
