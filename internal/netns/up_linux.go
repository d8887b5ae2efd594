package netns

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// SetUp sets an interface of the calling thread's network namespace up, and returns
// it.
func SetUp(name string) (netlink.Link, error) {
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(l)
	}
	if err != nil {
		return nil, fmt.Errorf("set %s up: %w", name, err)
	}
	return l, nil
}

// SetUpFirst is SetUp for that end of a veth pair whose other end is still down.
// await, to be called once when the other is up, returns when this one sends: the
// kernel notices its carrier from a work queue, and drops until then what it shall
// send. The end that comes up last sends at once.
func SetUpFirst(name string) (l netlink.Link, await func(), err error) {
	updates, done := make(chan netlink.LinkUpdate, 64), make(chan struct{})
	if err := netlink.LinkSubscribe(updates, done); err != nil {
		return nil, nil, fmt.Errorf("watch the interfaces: %w", err)
	}
	if l, err = SetUp(name); err != nil {
		unsubscribe(updates, done)
		return nil, nil, err
	}
	return l, func() {
		defer unsubscribe(updates, done)
		for u := range updates {
			if u.Attrs().Name == name && u.Attrs().OperState == netlink.OperUp {
				return
			}
		}
	}, nil
}
