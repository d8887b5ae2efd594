package hostnet

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// probe is a pair of UDP sockets, IPv4 and IPv6, in a handle's namespace: they ask
// interfaces for their drivers, and make the kernel look for a neighbour where the
// right to tell it so is missing.
type probe struct{ inet, inet6 int }

var noProbe = probe{inet: -1, inet6: -1}

func openProbe() (probe, error) {
	const kind = unix.SOCK_DGRAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	inet, err := unix.Socket(unix.AF_INET, kind, 0)
	if err != nil {
		return noProbe, fmt.Errorf("open a UDP socket, to ask interfaces for their drivers: %w", err)
	}
	inet6, err := unix.Socket(unix.AF_INET6, kind, 0)
	if err != nil {
		inet6 = -1 // no IPv6 here, and so no IPv6 neighbours
	}
	return probe{inet, inet6}, nil
}

func (p probe) close() (err error) {
	for _, fd := range []int{p.inet, p.inet6} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}

// driver returns the name of an interface's driver, "" if it has none to tell.
func (p probe) driver(name string) string {
	info, err := unix.IoctlGetEthtoolDrvinfo(p.inet, name)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Driver[:])
}

// discard is the port of a service that throws away what it gets (RFC 863).
const discard = 9

// datagram sends an empty datagram to a neighbour, which the kernel holds back until
// it knows the MAC.
func (p probe) datagram(ifindex int, to netip.Addr) error {
	if to.Is4() {
		oob := unix.PktInfo4(&unix.Inet4Pktinfo{Ifindex: int32(ifindex)})
		return unix.Sendmsg(p.inet, nil, oob, &unix.SockaddrInet4{Port: discard, Addr: to.As4()}, 0)
	}
	if p.inet6 < 0 {
		return unix.EAFNOSUPPORT
	}
	oob := unix.PktInfo6(&unix.Inet6Pktinfo{Ifindex: uint32(ifindex)})
	return unix.Sendmsg(p.inet6, nil, oob, &unix.SockaddrInet6{Port: discard, Addr: to.As16(), ZoneId: uint32(ifindex)}, 0)
}
