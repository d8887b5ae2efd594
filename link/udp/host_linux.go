package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// ownerOf finds the interface that has the address. All of 127.0.0.0/8 is the
// loopback interface's, listed or not.
func ownerOf(addr netip.Addr) (*net.Interface, error) {
	switch {
	case !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast():
		return nil, errors.New("need one unicast address of this host, since the ICRC covers it")
	case addr.Is6() && addr.IsLinkLocalUnicast() && addr.Zone() == "":
		return nil, errors.New("a link-local address needs its interface: write address%interface")
	}
	itfs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	for i := range itfs {
		if owns(&itfs[i], addr) {
			return &itfs[i], nil
		}
	}
	return nil, errors.New("no interface of this host (or network namespace) has this address: `ip address` lists those there are")
}

func owns(itf *net.Interface, addr netip.Addr) bool {
	if itf.Flags&net.FlagLoopback != 0 && addr.Is4() && addr.IsLoopback() {
		return true
	}
	if z := addr.Zone(); z != "" && z != itf.Name && z != strconv.Itoa(itf.Index) {
		return false
	}
	list, err := itf.Addrs()
	if err != nil {
		return false // the interface went away
	}
	return slices.ContainsFunc(list, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == addr.WithZone("")
	})
}

// openError tells what Open tried, what happened and what to do.
func openError(addr netip.Addr, err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		err = fmt.Errorf("%w, on this address or on all: %s; end that, or use another address of this host: two devices on one host need two, such as 127.0.0.2 and 127.0.0.3",
			ErrPortInUse, holder())
	}
	return fmt.Errorf("udp: open %v: %w", addr, err)
}

// holder says who probably has the port.
func holder() string {
	const process = "`ss -ulnp 'sport = :4791'` shows the process that holds it"
	if _, err := os.Stat("/sys/module/rdma_rxe"); err == nil {
		return "the kernel module rdma_rxe is loaded and takes it (`rmmod rdma_rxe`), or " + process
	}
	return process + ", or nothing if the kernel does (rdma_rxe, outside a container)"
}
