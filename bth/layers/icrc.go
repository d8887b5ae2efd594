package layers

import (
	"encoding/binary"
	"errors"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/wire"
)

// ICRC is the invariant CRC at the end of a packet.
type ICRC struct {
	layers.BaseLayer
	Value uint32 // as hash/crc32 has it; on the wire the low byte comes first
}

// LayerType returns [LayerTypeICRC].
func (*ICRC) LayerType() gopacket.LayerType { return LayerTypeICRC }

func newICRC(b []byte) *ICRC {
	return &ICRC{layers.BaseLayer{Contents: b}, binary.LittleEndian.Uint32(b)}
}

// ErrNoICRC is returned for packets whose ICRC cannot be checked.
var ErrNoICRC = errors.New("layers: no whole RoCEv2 packet with IP and UDP headers: its ICRC cannot be checked")

// VerifyICRC reports whether the ICRC of a decoded packet is right.
func VerifyICRC(p gopacket.Packet) (bool, error) {
	udp, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if !ok || p.Layer(LayerTypeICRC) == nil {
		return false, ErrNoICRC
	}
	var ip []byte
	switch l := p.NetworkLayer().(type) {
	case *layers.IPv4:
		ip = l.Contents
	case *layers.IPv6:
		ip = l.Contents
	default:
		return false, ErrNoICRC
	}
	f, err := wire.ParseIP(append(append(ip[:len(ip):len(ip)], udp.Contents...), udp.Payload...))
	if err != nil {
		return false, ErrNoICRC
	}
	return wire.VerifyICRC(f.Src, f.Dst, f.SrcPort, f.Flags, f.ID, [2][]byte{f.Payload}), nil
}
