package udp

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// controlSize is what one or two control messages of an int each need at most.
const controlSize = 64

// sendControl gives a packet its traffic class and hop limit.
type sendControl struct {
	b           [controlSize]byte
	size        int
	class, hops []byte // one C int each, in b
}

func (c *sendControl) init(v6 bool) {
	level, class, hops := unix.SOL_IP, unix.IP_TOS, unix.IP_TTL
	if v6 {
		level, class, hops = unix.SOL_IPV6, unix.IPV6_TCLASS, unix.IPV6_HOPLIMIT
	}
	space := unix.CmsgSpace(4)
	c.size = 2 * space
	c.class = controlInt(c.b[:space], level, class)
	c.hops = controlInt(c.b[space:2*space], level, hops)
}

// controlInt makes b a control message of one C int and returns where that is.
func controlInt(b []byte, level, typ int) []byte {
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
	h.Level, h.Type = int32(level), int32(typ)
	h.SetLen(unix.CmsgLen(4))
	return b[unix.CmsgLen(0):unix.CmsgLen(4)]
}

// attach adds the control messages to a message, unless the packet has the
// socket's defaults, as most have.
func (c *sendControl) attach(m *mmsghdr, class, hops uint8) {
	if class == 0 && hops == wire.DefaultHopLimit {
		m.Control = nil
		m.SetControllen(0)
		return
	}
	binary.NativeEndian.PutUint32(c.class, uint32(class))
	binary.NativeEndian.PutUint32(c.hops, uint32(hops))
	m.Control = &c.b[0]
	m.SetControllen(c.size)
}

// ecnOf reads the ECN field from the control message with the traffic class, if
// there is one: a byte for IPv4, a C int for IPv6.
func ecnOf(control []byte) uint8 {
	if len(control) < unix.CmsgLen(1) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(control)))
	value := control[unix.CmsgLen(0):]
	switch {
	case h.Level == unix.SOL_IP && h.Type == unix.IP_TOS:
		return uint8(wire.ECNOf(value[0]))
	case h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_TCLASS && len(value) >= 4:
		return uint8(wire.ECNOf(uint8(binary.NativeEndian.Uint32(value))))
	}
	return 0
}
