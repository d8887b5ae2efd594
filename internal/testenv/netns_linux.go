package testenv

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// checkNetns makes a namespace with a veth pair in it, once per process, and lets
// the kernel remove both.
var checkNetns = sync.OnceValue(func() error {
	result := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and with the thread
		// ends its namespace.
		runtime.LockOSThread()
		result <- tryNetns()
	}()
	return <-result
})

func tryNetns() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare(CLONE_NEWNET): %w; run as root, or with CAP_SYS_ADMIN", err)
	}
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}, PeerName: "probe1"}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add a veth pair in a fresh network namespace: %w; the kernel needs CONFIG_VETH", err)
	}
	return nil
}
