package testwire

import (
	"encoding/binary"

	"github.com/rocinante-rdma/roce/wire"
)

// packet is an Ethernet frame with a RoCEv2 packet in it.
type packet struct {
	wire.Frame
	ip []byte // the frame from the IP header on
}

func parsePacket(frame []byte) (p packet, ok bool) {
	f, err := wire.ParseFrame(frame)
	if err != nil || f.DstPort != wire.Port {
		return packet{}, false
	}
	at := wire.EthernetLen
	if binary.BigEndian.Uint16(frame[at-2:]) == etherTypeVLAN {
		at += wire.VLANLen
	}
	return packet{f, frame[at:]}, true
}

const etherTypeVLAN = 0x8100

func (p *packet) ecn() wire.ECN { return wire.ECNOf(p.TrafficClass) }

// mark sets the ECN field to CE. Neither the UDP checksum nor the ICRC covers it.
func (p *packet) mark() {
	if p.ip[0]>>4 == 6 {
		p.ip[1] |= uint8(wire.CE) << 4
		return
	}
	p.setWord(0, binary.BigEndian.Uint16(p.ip)|uint16(wire.CE))
}

// setWord changes a word of the IPv4 header, and its checksum with it (RFC 1624,
// equation 3).
func (p *packet) setWord(at int, v uint16) {
	before := binary.BigEndian.Uint16(p.ip[at:])
	binary.BigEndian.PutUint16(p.ip[at:], v)
	sum := uint32(^binary.BigEndian.Uint16(p.ip[10:])) + uint32(^before) + uint32(v)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(p.ip[10:], ^uint16(sum))
}
