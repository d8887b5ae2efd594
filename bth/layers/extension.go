package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocinante-rdma/roce/bth"
)

// The extension headers. Contents are the header's own bytes, Payload all that
// follows, ICRC included.
type (
	// RDETH names the end-to-end context of a reliable datagram.
	RDETH struct {
		layers.BaseLayer
		EEContext uint32
	}
	// DETH holds Q_Key and source queue pair of a datagram.
	DETH struct {
		layers.BaseLayer
		bth.DETH
	}
	// XRCETH names the shared receive queue of an XRC request.
	XRCETH struct {
		layers.BaseLayer
		SRQ uint32
	}
	// FETH says what a FLUSH flushes, and how far.
	FETH struct {
		layers.BaseLayer
		bth.FETH
	}
	// RETH holds remote address, R_Key and length.
	RETH struct {
		layers.BaseLayer
		bth.RETH
	}
	// AtomicETH holds the operands of an atomic.
	AtomicETH struct {
		layers.BaseLayer
		bth.AtomicETH
	}
	// AETH holds syndrome and MSN of an acknowledgement.
	AETH struct {
		layers.BaseLayer
		bth.AETH
	}
	// AtomicAckETH holds what an atomic found in memory.
	AtomicAckETH struct {
		layers.BaseLayer
		Original uint64
	}
	// ImmDt is immediate data.
	ImmDt struct {
		layers.BaseLayer
		Imm uint32
	}
	// IETH holds the R_Key to invalidate.
	IETH struct {
		layers.BaseLayer
		RKey uint32
	}
	// CNP is the reserved bytes of a congestion notification packet.
	CNP struct {
		layers.BaseLayer
	}
)

// LayerType returns [LayerTypeRDETH].
func (*RDETH) LayerType() gopacket.LayerType { return LayerTypeRDETH }

// LayerType returns [LayerTypeDETH].
func (*DETH) LayerType() gopacket.LayerType { return LayerTypeDETH }

// LayerType returns [LayerTypeXRCETH].
func (*XRCETH) LayerType() gopacket.LayerType { return LayerTypeXRCETH }

// LayerType returns [LayerTypeFETH].
func (*FETH) LayerType() gopacket.LayerType { return LayerTypeFETH }

// LayerType returns [LayerTypeRETH].
func (*RETH) LayerType() gopacket.LayerType { return LayerTypeRETH }

// LayerType returns [LayerTypeAtomicETH].
func (*AtomicETH) LayerType() gopacket.LayerType { return LayerTypeAtomicETH }

// LayerType returns [LayerTypeAETH].
func (*AETH) LayerType() gopacket.LayerType { return LayerTypeAETH }

// LayerType returns [LayerTypeAtomicAckETH].
func (*AtomicAckETH) LayerType() gopacket.LayerType { return LayerTypeAtomicAckETH }

// LayerType returns [LayerTypeImmDt].
func (*ImmDt) LayerType() gopacket.LayerType { return LayerTypeImmDt }

// LayerType returns [LayerTypeIETH].
func (*IETH) LayerType() gopacket.LayerType { return LayerTypeIETH }

// LayerType returns [LayerTypeCNP].
func (*CNP) LayerType() gopacket.LayerType { return LayerTypeCNP }

// extensions lists the extension headers in the order of the wire: the flag of the
// opcodes that have one, its length, and how its layer is filled.
var extensions = []struct {
	flag bth.Flags
	len  int
	make func(p *bth.Packet, base layers.BaseLayer) gopacket.Layer
}{
	{bth.HasRDETH, bth.RDETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &RDETH{b, p.RDETH} }},
	{bth.HasDETH, bth.DETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &DETH{b, p.DETH} }},
	{bth.HasXRCETH, bth.XRCETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &XRCETH{b, p.XRCSRQ} }},
	{bth.HasFETH, bth.FETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &FETH{b, p.FETH} }},
	{bth.HasRETH, bth.RETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &RETH{b, p.RETH} }},
	{bth.HasAtomicETH, bth.AtomicETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &AtomicETH{b, p.Atomic} }},
	{bth.HasAETH, bth.AETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &AETH{b, p.AETH} }},
	{bth.HasAtomicAck, bth.AtomicAckLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &AtomicAckETH{b, p.AtomicAck} }},
	{bth.HasImm, bth.ImmLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &ImmDt{b, p.Imm} }},
	{bth.HasIETH, bth.IETHLen, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &IETH{b, p.IETH} }},
	{bth.HasCNP, bth.CNPReservedLen, func(_ *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &CNP{b} }},
}
