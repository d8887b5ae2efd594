package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cm/mad"
)

// MAD is the header of a management datagram, 24 bytes.
type MAD struct {
	layers.BaseLayer
	mad.Header
}

// LayerType returns [LayerTypeMAD].
func (*MAD) LayerType() gopacket.LayerType { return LayerTypeMAD }

// CM is a message of the connection manager, the 232 bytes behind a MAD header.
type CM struct {
	layers.BaseLayer
	mad.Message
}

// LayerType returns [LayerTypeCM].
func (*CM) LayerType() gopacket.LayerType { return LayerTypeCM }

// isMAD reports whether a payload is a management datagram.
func isMAD(p *bth.Packet) bool {
	return p.Opcode.Transport() == bth.TransportUD && p.DestQP == mad.QPN && p.PayloadLen() == mad.Size
}

// addMAD adds the layers of a management datagram: of one that is not the
// connection manager's, header and payload.
func addMAD(b []byte, p gopacket.PacketBuilder) {
	header, message, err := mad.Parse(b)
	body := b[mad.HeaderLen:]
	p.AddLayer(&MAD{layers.BaseLayer{Contents: b[:mad.HeaderLen], Payload: body}, header})
	if err != nil {
		addPayload(body, p)
		return
	}
	p.AddLayer(&CM{layers.BaseLayer{Contents: body}, message})
}
