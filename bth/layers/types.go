package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/wire"
)

// Layer types. gopacket leaves the numbers from 1000 to 1999 to its users; these
// are 1479 and the following.
var (
	LayerTypeBTH          = register(0, "BTH", gopacket.DecodeFunc(decodeBTH))
	LayerTypeRDETH        = register(1, "RDETH", nil)
	LayerTypeDETH         = register(2, "DETH", nil)
	LayerTypeXRCETH       = register(3, "XRCETH", nil)
	LayerTypeFETH         = register(4, "FETH", nil)
	LayerTypeRETH         = register(5, "RETH", nil)
	LayerTypeAtomicETH    = register(6, "AtomicETH", nil)
	LayerTypeAETH         = register(7, "AETH", nil)
	LayerTypeAtomicAckETH = register(8, "AtomicAckETH", nil)
	LayerTypeImmDt        = register(9, "ImmDt", nil)
	LayerTypeIETH         = register(10, "IETH", nil)
	LayerTypeCNP          = register(11, "CNP", nil)
	LayerTypeMAD          = register(12, "MAD", nil)
	LayerTypeCM           = register(13, "CM", nil)
	LayerTypeICRC         = register(14, "ICRC", nil)
)

// register registers a layer type. Only the BTH has a decoder: what follows it
// depends on its opcode, so it decodes that too.
func register(n int, name string, d gopacket.Decoder) gopacket.LayerType {
	const first = 1479
	if d == nil {
		d = gopacket.DecodePayload
	}
	return gopacket.RegisterLayerType(first+n, gopacket.LayerTypeMetadata{Name: name, Decoder: d})
}

func init() { layers.RegisterUDPPortLayerType(wire.Port, LayerTypeBTH) }
