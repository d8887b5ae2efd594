package nic

import (
	"net/netip"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Tag is a VLAN tag that the kernel took out of a frame and gave beside it.
type Tag struct {
	TCI     uint16 // priority bits and VLAN ID
	Present bool
}

// Accept judges a received frame of total bytes that begins with b, which has all
// headers. It is for this NIC if it is RoCEv2 for one of its addresses, on the VLAN of
// that address (a tag with VLAN ID 0 has a priority only) and for the MAC of that
// interface. Then Accept sets m, and the UDP payload is the n bytes from payload on;
// else it counts why not.
//
// The identification is known of single packets. That of the later ones in a
// super-frame is not: they may have been merged here.
func (n *NIC) Accept(b []byte, total int, tag Tag, m *link.Meta) (payload, size int, ok bool) {
	h, payload, size, err := wire.ParseHeaders(b, total)
	if err == nil {
		err = n.judgeHeaders(&h, tag)
	}
	if err != nil {
		n.drops.note(err)
		return 0, 0, false
	}
	*m = link.Meta{
		Src: h.Src, Dst: h.Dst, SrcPort: h.SrcPort,
		ECN: uint8(wire.ECNOf(h.TrafficClass)), VLAN: h.VLAN,
		ID: h.ID, IDKnown: true, Flags: h.Flags,
	}
	return payload, size, true
}

// judgeHeaders returns why a frame with such headers is not for this NIC. It puts the
// tag into them.
func (n *NIC) judgeHeaders(h *wire.Headers, tag Tag) error {
	if tag.Present {
		if h.VLAN != 0 {
			return errTwoTags
		}
		h.VLAN = tag.TCI
	}
	if h.DstPort != wire.Port {
		return errPort
	}
	l, err := n.localFor(h.Dst, h.VLAN&wire.VLANID)
	switch {
	case err != nil:
		return err
	case *l.on.mac.Load() != h.DstMAC:
		return errMAC
	case !l.present.Load():
		return errRemoved
	}
	return nil
}

// localFor finds a local address on a VLAN. There are few: they are compared one by
// one.
func (n *NIC) localFor(addr netip.Addr, vlan uint16) (*local, error) {
	err := errAddress
	for _, l := range n.locals {
		if l.addr != addr {
			continue
		}
		if l.vlan == vlan {
			return l, nil
		}
		err = errVLAN
	}
	return nil, err
}
