package udp

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/wire"
)

// Bytes for control messages at most: three of an int to send, two to receive.
const (
	sendControlSize = 96
	recvControlSize = 64
)

// sendControl are the control messages that a message may need: the length of the
// packets in a super-frame first, then traffic class and hop limit.
type sendControl struct {
	b           [sendControlSize]byte
	rest, end   int    // in b: where the class begins, and where all ends
	seg         []byte // uint16, in b
	class, hops []byte // one C int each, in b
}

func (c *sendControl) init(v6 bool) {
	level, class, hops := unix.SOL_IP, unix.IP_TOS, unix.IP_TTL
	if v6 {
		level, class, hops = unix.SOL_IPV6, unix.IPV6_TCLASS, unix.IPV6_HOPLIMIT
	}
	c.seg = c.add(unix.SOL_UDP, unix.UDP_SEGMENT, 2)
	c.rest = c.end
	c.class = c.add(level, class, 4)
	c.hops = c.add(level, hops, 4)
}

// add appends a control message with n bytes of data and returns where these are.
func (c *sendControl) add(level, typ, n int) []byte {
	b := c.b[c.end : c.end+unix.CmsgSpace(n)]
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
	h.Level, h.Type = int32(level), int32(typ)
	h.SetLen(unix.CmsgLen(n))
	c.end += len(b)
	return b[unix.CmsgLen(0):unix.CmsgLen(n)]
}

// attach adds those control messages to a message that it needs: seg unless it is 0,
// class and hop limit unless they are the socket's defaults, as most are.
func (c *sendControl) attach(m *mmsg.Message, class, hops uint8, seg int) {
	from, to := 0, c.end
	if seg == 0 {
		from = c.rest
	}
	if class == 0 && hops == wire.DefaultHopLimit {
		to = c.rest
	}
	if from == to {
		m.Control = nil
		m.SetControllen(0)
		return
	}
	binary.NativeEndian.PutUint16(c.seg, uint16(seg))
	binary.NativeEndian.PutUint32(c.class, uint32(class))
	binary.NativeEndian.PutUint32(c.hops, uint32(hops))
	m.Control = &c.b[from]
	m.SetControllen(to - from)
}

// readControl reads the ECN field, a byte for IPv4 and a C int for IPv6, and the
// length of the packets in a super-frame, 0 for a single packet.
func readControl(b []byte) (ecn uint8, seg int) {
	for len(b) >= unix.CmsgLen(1) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		value := b[unix.CmsgLen(0):h.Len]
		switch {
		case h.Level == unix.SOL_IP && h.Type == unix.IP_TOS:
			ecn = uint8(wire.ECNOf(value[0]))
		case h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_TCLASS:
			ecn = uint8(wire.ECNOf(uint8(binary.NativeEndian.Uint32(value))))
		case h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO:
			seg = int(binary.NativeEndian.Uint32(value))
		}
		b = b[min(unix.CmsgSpace(len(value)), len(b)):]
	}
	return ecn, seg
}
