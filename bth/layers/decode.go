package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// decodeBTH decodes a packet, BTH to ICRC, to all its layers. Of a packet that the
// capture cut off, these are the headers and, as payload, what follows them: where
// pad and ICRC would begin is not known.
func decodeBTH(data []byte, b gopacket.PacketBuilder) error {
	packet, icrc := cut(data, b)
	var p bth.Packet
	err := p.Parse(packet, nil)
	if len(packet) < bth.BTHLen {
		b.SetTruncated()
		return err
	}
	b.AddLayer(newBTH(&p, base(data, bth.BTHLen)))
	if err != nil {
		return err
	}
	addExtensions(data[bth.BTHLen:], &p, b)
	switch {
	case isMAD(&p):
		addMAD(p.Payload[0], b)
	case p.PayloadLen() > 0:
		addPayload(p.Payload[0], b)
	}
	if icrc != nil {
		b.AddLayer(newICRC(icrc))
	}
	return nil
}

// cut separates the ICRC, which a packet cut off by the capture has not.
func cut(data []byte, b gopacket.PacketBuilder) (packet, icrc []byte) {
	if p, ok := b.(gopacket.Packet); ok && p.Metadata().Truncated {
		return data, nil
	}
	n := max(0, len(data)-wire.ICRCLen)
	return data[:n], data[n:]
}

func addExtensions(rest []byte, p *bth.Packet, b gopacket.PacketBuilder) {
	for _, e := range extensions {
		if p.Opcode.Is(e.flag) {
			b.AddLayer(e.make(p, base(rest, e.len)))
			rest = rest[e.len:]
		}
	}
}

func addPayload(bytes []byte, b gopacket.PacketBuilder) {
	payload := gopacket.Payload(bytes)
	b.AddLayer(&payload)
	b.SetApplicationLayer(&payload)
}

func base(b []byte, n int) layers.BaseLayer {
	return layers.BaseLayer{Contents: b[:n:n], Payload: b[n:]}
}
