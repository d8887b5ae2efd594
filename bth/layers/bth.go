package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/bth"
)

// BTH is the base transport header. Its Contents are twelve bytes, its Payload all
// that follows, ICRC included.
type BTH struct {
	layers.BaseLayer
	Opcode    bth.Opcode
	Solicited bool
	MigReq    bool
	Pad       uint8 // bytes behind the payload
	TVer      uint8
	PKey      uint16
	FECN      bool
	BECN      bool
	DestQP    uint32
	AckReq    bool
	PSN       bth.PSN

	packet bth.Packet
}

func newBTH(p *bth.Packet, base layers.BaseLayer) *BTH {
	return &BTH{
		BaseLayer: base,
		Opcode:    p.Opcode, Solicited: p.Solicited, MigReq: p.MigReq, Pad: p.Pad, TVer: p.TVer, PKey: p.PKey,
		FECN: p.FECN, BECN: p.BECN, DestQP: p.DestQP, AckReq: p.AckReq, PSN: p.PSN,
		packet: *p,
	}
}

// LayerType returns [LayerTypeBTH].
func (*BTH) LayerType() gopacket.LayerType { return LayerTypeBTH }

// Packet returns the whole packet as package bth parsed it, extension headers and
// payload included. The payload aliases the captured bytes.
func (b *BTH) Packet() *bth.Packet { return &b.packet }
