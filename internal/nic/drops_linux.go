package nic

import (
	"errors"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Reasons to drop a frame besides those of [wire.ParseHeaders].
var (
	errPort     = errors.New("nic: other UDP port")
	errAddress  = errors.New("nic: not a local address")
	errVLAN     = errors.New("nic: other VLAN")
	errMAC      = errors.New("nic: other MAC")
	errRemoved  = errors.New("nic: removed address")
	errTwoTags  = errors.New("nic: two VLAN tags")
	dropReasons = [...]struct {
		err  error
		name string
	}{
		{wire.ErrTruncated, "nic: dropped, shorter than its headers say"},
		{wire.ErrNotIP, "nic: dropped, neither IPv4 nor IPv6"},
		{wire.ErrNotUDP, "nic: dropped, not UDP"},
		{wire.ErrOptions, "nic: dropped, IPv4 options"},
		{wire.ErrFragment, "nic: dropped, IP fragment"},
		{wire.ErrExtension, "nic: dropped, IPv6 extension header"},
		{wire.ErrUDPLength, "nic: dropped, impossible UDP length"},
		{errTwoTags, "nic: dropped, more than one VLAN tag"},
		{errPort, "nic: dropped, not for UDP port 4791"},
		{errAddress, "nic: dropped, not for a local address"},
		{errVLAN, "nic: dropped, not on the VLAN of its address"},
		{errMAC, "nic: dropped, not for the interface's MAC"},
		{errRemoved, "nic: dropped, for an address that was removed"},
	}
)

// drops counts frames by why they were dropped.
type drops [len(dropReasons)]atomic.Uint64

func (d *drops) note(err error) {
	for i := range dropReasons {
		if errors.Is(err, dropReasons[i].err) {
			d[i].Add(1)
			return
		}
	}
}

func (d *drops) counters() (list []link.Counter) {
	for i := range d {
		if n := d[i].Load(); n != 0 {
			list = append(list, link.Counter{Name: dropReasons[i].name, Value: n})
		}
	}
	return list
}
