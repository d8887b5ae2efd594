package raw

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// vnetLen is the length of struct virtio_net_hdr, which PACKET_VNET_HDR puts before
// each frame, in host byte order.
const vnetLen = 10

// Values of its fields.
const (
	needsChecksum = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM // flags: a checksum is to be completed
	gsoNone       = unix.VIRTIO_NET_HDR_GSO_NONE     // gso_type: a single frame
	gsoUDP        = unix.VIRTIO_NET_HDR_GSO_UDP_L4   // gso_type: UDP segmentation (Linux 6.2)
	gsoECN        = unix.VIRTIO_NET_HDR_GSO_ECN      // or'ed to gso_type
)

const checksumAt = 6 // in the UDP header

// vnetHeader is the header in fields: what the kernel is told, or tells.
type vnetHeader struct {
	flags, gsoType                              uint8
	headers, segment, checksumStart, checksumTo uint16
}

func (h vnetHeader) put(b []byte) {
	b[0], b[1] = h.flags, h.gsoType
	binary.NativeEndian.PutUint16(b[2:], h.headers)
	binary.NativeEndian.PutUint16(b[4:], h.segment)
	binary.NativeEndian.PutUint16(b[6:], h.checksumStart)
	binary.NativeEndian.PutUint16(b[8:], h.checksumTo)
}

func parseVnet(b []byte) vnetHeader {
	return vnetHeader{
		flags: b[0], gsoType: b[1],
		headers:       binary.NativeEndian.Uint16(b[2:]),
		segment:       binary.NativeEndian.Uint16(b[4:]),
		checksumStart: binary.NativeEndian.Uint16(b[6:]),
		checksumTo:    binary.NativeEndian.Uint16(b[8:]),
	}
}

// putHeaders writes what goes before the UDP payload of a message to b, and returns
// its length: the virtio header, and the frame's headers from t with the
// identification id, for n bytes of payload. A segment other than 0 makes it a
// super-frame of packets of that size with consecutive identifications.
//
// A single packet has no UDP checksum. The kernel wants one when it cuts a
// super-frame: it completes what the pseudo header begins.
func putHeaders(b []byte, t *wire.Template, id uint16, n, segment int, gsoType uint8) int {
	frame := b[vnetLen : vnetLen+t.Len()]
	t.Put(frame, id, n)
	h := vnetHeader{headers: uint16(len(frame))}
	if segment != 0 {
		udp := len(frame) - wire.UDPLen
		binary.BigEndian.PutUint16(frame[udp+checksumAt:], wire.PseudoSum(frame[t.IPOffset():], wire.UDPLen+n))
		h.flags, h.gsoType, h.segment = needsChecksum, gsoType, uint16(segment)
		h.checksumStart, h.checksumTo = uint16(udp), checksumAt
	}
	h.put(b)
	return vnetLen + len(frame)
}
