//go:build linux

package guest

import (
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/netns"
)

// TapName is the name of the tap device in a guest's Netns.
const TapName = "tap0"

// tap is a tap device as one end of a cable: the frames that the kernel of its
// namespace sends and receives. The kernel does itself what a NIC would do for it:
// a frame is one packet with its checksums done.
type tap struct {
	f   *os.File
	mtu int
}

// tapQueue is how many frames the kernel keeps for a slow reader before it drops some.
const tapQueue = 8192

// addTap makes the tap device in a namespace. It ends with its close.
func addTap(n *netns.Netns, mtu int) (*tap, error) {
	t := &tap{mtu: mtu}
	err := n.Do(func() (err error) {
		if t.f, err = openTap(); err != nil {
			return err
		}
		if err := configureTap(mtu); err != nil {
			t.f.Close()
			return err
		}
		return nil
	})
	return t, err
}

// openTap makes the device in the namespace of the caller's thread.
func openTap() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("guest: open /dev/net/tun: %w", err)
	}
	req, err := unix.NewIfreq(TapName)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("guest: make a tap device: %w", err)
	}
	// Only now: Go's poller cannot watch a descriptor that has no device yet.
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// configureTap gives the tap device of the namespace of the caller's thread its
// addresses.
func configureTap(mtu int) error {
	l, err := netlink.LinkByName(TapName)
	if err != nil {
		return fmt.Errorf("guest: find the tap device: %w", err)
	}
	for _, set := range []func() error{
		func() error { return netlink.LinkSetHardwareAddr(l, HostMAC) },
		func() error { return netlink.LinkSetMTU(l, mtu) },
		func() error { return netlink.LinkSetTxQLen(l, tapQueue) },
		func() error { return netlink.LinkSetUp(l) },
		func() error { return netns.AddAddress(l, HostIPv4.String()) },
		func() error { return netns.AddAddress(l, HostIPv6.String()) },
	} {
		if err := set(); err != nil {
			return fmt.Errorf("guest: configure the tap device: %w", err)
		}
	}
	return nil
}

func (t *tap) read() ([]byte, error) {
	b := make([]byte, t.mtu+frameRoom)
	n, err := t.f.Read(b)
	return b[:n], err
}

func (t *tap) write(frame []byte) error {
	_, err := t.f.Write(frame)
	return err
}

func (t *tap) close() error { return t.f.Close() }
