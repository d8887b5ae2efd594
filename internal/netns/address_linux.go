package netns

import (
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddAddress gives an interface of the calling thread's network namespace, which
// must be up, an address such as "fd00::1/64", and returns when packets to it
// arrive. IPv6 makes an address local some time after it was added, from a work
// queue: until then packets to it are lost. Duplicate address detection is off.
func AddAddress(l netlink.Link, prefix string) error {
	a, err := netlink.ParseAddr(prefix)
	if err != nil {
		return err
	}
	if a.IP.To4() == nil {
		a.Flags = unix.IFA_F_NODAD
	}
	routes, done := make(chan netlink.RouteUpdate, 64), make(chan struct{})
	if err := netlink.RouteSubscribe(routes, done); err != nil {
		return err
	}
	defer unsubscribe(routes, done)
	if err := netlink.AddrAdd(l, a); err != nil {
		return err
	}
	for u := range routes {
		if isLocal(u, a.IP) {
			break
		}
	}
	return nil
}

// unsubscribe ends a subscription of package netlink, and waits for its end: else its
// descriptor and goroutines stay for a while that nobody knows.
func unsubscribe[T any](updates <-chan T, done chan<- struct{}) {
	close(done)
	for range updates {
	}
}

// isLocal reports whether an update makes an address local.
func isLocal(u netlink.RouteUpdate, ip net.IP) bool {
	return u.Type == unix.RTM_NEWROUTE && u.Table == unix.RT_TABLE_LOCAL && u.Dst != nil && u.Dst.IP.Equal(ip)
}
