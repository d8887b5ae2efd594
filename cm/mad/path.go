package mad

import (
	"encoding/binary"
	"net/netip"
)

// Path is one of the two paths of a REQ. On RoCE the GIDs are IP addresses (IPv4
// in the mapped form ::ffff:a.b.c.d) and the LIDs mean nothing.
type Path struct {
	LocalLID     uint16     `json:"local_lid"`
	RemoteLID    uint16     `json:"remote_lid"`
	LocalGID     netip.Addr `json:"local_gid"`
	RemoteGID    netip.Addr `json:"remote_gid"`
	FlowLabel    uint32     `json:"flow_label"` // 20 bits
	Rate         uint8      `json:"rate"`       // 6-bit code
	TrafficClass uint8      `json:"traffic_class"`
	HopLimit     uint8      `json:"hop_limit"`
	SL           uint8      `json:"sl"` // 4 bits
	SubnetLocal  bool       `json:"subnet_local"`
	AckTimeout   uint8      `json:"ack_timeout"` // 5 bits: 4.096 µs · 2^t
}

const pathLen = 44

func (p *Path) parse(b []byte) {
	p.LocalLID = binary.BigEndian.Uint16(b)
	p.RemoteLID = binary.BigEndian.Uint16(b[2:])
	p.LocalGID = netip.AddrFrom16([16]byte(b[4:]))
	p.RemoteGID = netip.AddrFrom16([16]byte(b[20:]))
	word := binary.BigEndian.Uint32(b[36:])
	p.FlowLabel, p.Rate = word>>12, uint8(word&0x3f)
	p.TrafficClass, p.HopLimit = b[40], b[41]
	p.SL, p.SubnetLocal = b[42]>>4, b[42]&8 != 0
	p.AckTimeout = b[43] >> 3
}

func (p *Path) put(b []byte) {
	binary.BigEndian.PutUint16(b, p.LocalLID)
	binary.BigEndian.PutUint16(b[2:], p.RemoteLID)
	putAddr(b[4:], p.LocalGID)
	putAddr(b[20:], p.RemoteGID)
	binary.BigEndian.PutUint32(b[36:], p.FlowLabel<<12|uint32(p.Rate&0x3f))
	b[40], b[41] = p.TrafficClass, p.HopLimit
	b[42] = p.SL<<4 | bit(p.SubnetLocal, 8)
	b[43] = p.AckTimeout << 3
}

func putAddr(b []byte, a netip.Addr) {
	gid := a.As16()
	copy(b, gid[:])
}
