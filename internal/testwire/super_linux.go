package testwire

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/wire"
)

// vnetLen is the length of struct virtio_net_hdr, which PACKET_VNET_HDR puts before
// each frame, in host byte order.
const vnetLen = 10

// message is what a packet socket gives and takes: a virtio header and a frame.
type message []byte

func (m message) frame() []byte { return m[vnetLen:] }

// segment is the length of the packets of a super-frame.
func (m message) segment() int { return int(binary.NativeEndian.Uint16(m[4:])) }

// cut returns the RoCEv2 packets in a message as frames with complete checksums, as a
// network card sends them: the packets of a super-frame have consecutive IPv4
// identifications. ok is false for other frames, which need no cutting here.
func (m message) cut(frames [][]byte) (_ [][]byte, ok bool) {
	p, ok := parsePacket(m.frame())
	if !ok {
		return frames, false
	}
	switch m[1] &^ unix.VIRTIO_NET_HDR_GSO_ECN {
	case unix.VIRTIO_NET_HDR_GSO_NONE: // a single frame
		if m[0]&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0 {
			p.sum()
		}
		return append(frames, m.frame()), true
	case unix.VIRTIO_NET_HDR_GSO_UDP_L4:
		for i := 0; len(p.Payload) > 0; i++ {
			n := min(len(p.Payload), max(m.segment(), 1))
			frames = append(frames, p.piece(m.frame(), i, p.Payload[:n]))
			p.Payload = p.Payload[n:]
		}
		return frames, true
	default:
		return frames, false
	}
}

// piece is the frame of packet i of a super-frame.
func (p *packet) piece(super []byte, i int, payload []byte) []byte {
	at := len(super) - len(p.ip)
	end := at + p.headers() + wire.UDPLen
	frame := append(append(make([]byte, 0, end+len(payload)), super[:end]...), payload...)
	q := packet{wire.Frame{Headers: p.Headers, Payload: payload}, frame[at:]}
	binary.BigEndian.PutUint16(q.ip[q.headers()+4:], uint16(wire.UDPLen+len(payload)))
	if q.ip[0]>>4 == 6 {
		binary.BigEndian.PutUint16(q.ip[4:], uint16(wire.UDPLen+len(payload)))
	} else {
		q.setWord(2, uint16(wire.IPv4Len+wire.UDPLen+len(payload)))
		q.setWord(4, p.ID+uint16(i))
	}
	q.sum()
	return frame
}

// headers is the length of the IP header.
func (p *packet) headers() int {
	if p.ip[0]>>4 == 6 {
		return wire.IPv6Len
	}
	return wire.IPv4Len
}

// sum completes the UDP checksum.
func (p *packet) sum() {
	udp := p.ip[p.headers():][:wire.UDPLen+len(p.Payload)]
	binary.BigEndian.PutUint16(udp[6:], 0)
	binary.BigEndian.PutUint16(udp[6:], wire.UDPChecksum(p.ip, udp))
}
