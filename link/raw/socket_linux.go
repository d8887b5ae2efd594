package raw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/sockopt"
)

// Wanted sizes of the socket's buffers, in bytes. The kernel counts about two bytes
// for one, and a super-frame as a whole: 16 MiB hold a few hundred.
const (
	wantReceive = 16 << 20
	wantSend    = 8 << 20
)

// socketOptions are set before the socket is bound.
var socketOptions = []struct {
	name int
	what string
}{
	{unix.PACKET_VNET_HDR, "PACKET_VNET_HDR"},               // super-frames
	{unix.PACKET_AUXDATA, "PACKET_AUXDATA"},                 // VLAN tags
	{unix.PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING"}, // not what this host sends (Linux 4.20)
}

// openSocket returns a non-blocking socket that gets the frames for addrs, and
// nothing else at any time: it has no protocol, and so receives nothing, until it is
// bound.
func openSocket(ifindex int, addrs []netip.Addr) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w: run as root, or give the program CAP_NET_RAW (`setcap cap_net_raw+ep PROGRAM`), or use the udp link", err)
		}
		return -1, fmt.Errorf("AF_PACKET socket: %w", err)
	}
	if err := prepareSocket(fd, ifindex, addrs); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func prepareSocket(fd, ifindex int, addrs []netip.Addr) error {
	for _, o := range socketOptions {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, o.name, 1); err != nil {
			return fmt.Errorf("set %s: %w", o.what, err)
		}
	}
	sockopt.GrowReceive(fd, wantReceive)
	sockopt.GrowSend(fd, wantSend)
	if err := sockopt.AttachFilter(fd, filter(addrs)); err != nil {
		return fmt.Errorf("let only RoCEv2 for %d addresses pass: %w", len(addrs), err)
	}
	// All protocols: the handlers of one protocol do not see tagged frames here, but
	// on the VLAN's interface.
	err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: ifindex})
	if err != nil {
		return fmt.Errorf("bind to the interface: %w", err)
	}
	return nil
}

func networkOrder(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}
