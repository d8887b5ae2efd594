package bth

import (
	"encoding/binary"
	"errors"
)

// DefaultPKey is the default partition key with the full-member bit set, the only
// one RoCE networks use in practice.
const DefaultPKey = 0xffff

// RETH addresses remote memory (IBTA vol. 1, 9.3.3).
type RETH struct {
	VA   uint64 // virtual address in the responder's region
	RKey uint32
	Len  uint32 // DMA length of the whole message, bytes
}

// AtomicETH carries an atomic's operands (IBTA vol. 1, 9.3.4).
type AtomicETH struct {
	VA      uint64
	RKey    uint32
	SwapAdd uint64 // CmpSwap: the new value; FetchAdd: the addend
	Compare uint64 // CmpSwap only
}

// AETH acknowledges (IBTA vol. 1, 9.3.5).
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // 24 bits: messages completed by the responder
}

// DETH addresses a datagram (IBTA vol. 1, 9.3.2).
type DETH struct {
	QKey  uint32
	SrcQP uint32 // 24 bits
}

// FETH is the flush header (IBTA vol. 1, A19).
type FETH struct {
	Selectivity uint8 // 0: memory range, 1: whole region
	Placement   uint8 // bit 0: global visibility, bit 1: persistence
}

// Packet is the parsed view of one packet, BTH to pad. Which of the extension
// headers are meaningful follows from Opcode.Flags. Payload aliases the bytes
// given to Parse; a payload that straddles two link fragments has two pieces.
//
// A Packet is reused by its owner; it is not safe for concurrent use.
type Packet struct {
	Opcode    Opcode
	Solicited bool   // SE
	MigReq    bool   // M: ignored on receive, sent as 1 like NICs do
	Pad       uint8  // 0–3 bytes behind the payload
	TVer      uint8  // transport header version, 0
	PKey      uint16 // partition key
	FECN      bool
	BECN      bool
	DestQP    uint32 // 24 bits
	AckReq    bool
	PSN       PSN

	RDETH     uint32 // 24-bit EE context
	DETH      DETH
	XRCSRQ    uint32 // 24-bit XRC SRQ number
	RETH      RETH
	Atomic    AtomicETH
	AETH      AETH
	AtomicAck uint64 // original remote data
	Imm       uint32
	IETH      uint32 // R_Key to invalidate
	FETH      FETH

	Payload [2][]byte
}

// Parse errors. They are values, not types: the receive path counts them.
var (
	ErrShort   = errors.New("bth: packet shorter than its headers and pad")
	ErrOpcode  = errors.New("bth: undefined opcode")
	ErrVersion = errors.New("bth: transport header version is not 0")
)

// PayloadLen is the number of payload bytes, without the pad.
func (p *Packet) PayloadLen() int { return len(p.Payload[0]) + len(p.Payload[1]) }

// ParseBTH reads the twelve bytes of the base header alone. It is what demux
// needs; b must hold at least BTHLen bytes.
func (p *Packet) ParseBTH(b []byte) error {
	if len(b) < BTHLen {
		return ErrShort
	}
	p.Opcode = Opcode(b[0])
	p.Solicited = b[1]&0x80 != 0
	p.MigReq = b[1]&0x40 != 0
	p.Pad = b[1] >> 4 & 3
	p.TVer = b[1] & 0xf
	p.PKey = binary.BigEndian.Uint16(b[2:])
	p.FECN = b[4]&0x80 != 0
	p.BECN = b[4]&0x40 != 0
	p.DestQP = be24(b[5:])
	p.AckReq = b[8]&0x80 != 0
	p.PSN = PSN(be24(b[9:]))
	return nil
}

// Parse reads a packet that lies in one or two pieces: BTH, extension headers,
// payload and pad, without the ICRC. The headers must lie in a; the payload and
// pad may go on in b. On error the fields read so far are set and the payload is
// empty. Parse never panics and never reads beyond a and b.
func (p *Packet) Parse(a, b []byte) error {
	p.Payload = [2][]byte{}
	if err := p.ParseBTH(a); err != nil {
		return err
	}
	return p.ParseRest(a, b)
}

// ParseRest is Parse for a packet whose base header ParseBTH has read from a: a
// receiver looks at that alone before it knows whether it wants the rest.
func (p *Packet) ParseRest(a, b []byte) error {
	p.Payload = [2][]byte{}
	if !p.Opcode.Known() {
		return ErrOpcode
	}
	hdr := p.Opcode.HeaderLen()
	if len(a) < hdr || len(a)+len(b) < hdr+int(p.Pad) {
		return ErrShort
	}
	if p.TVer != 0 {
		return ErrVersion
	}
	p.parseExtensions(a)
	p.Payload = split(a[hdr:], b, len(a)+len(b)-hdr-int(p.Pad))
	return nil
}

// split cuts the first n bytes out of the two pieces.
func split(a, b []byte, n int) [2][]byte {
	if n <= len(a) {
		return [2][]byte{a[:n]}
	}
	return [2][]byte{a, b[:n-len(a)]}
}

func (p *Packet) parseExtensions(b []byte) {
	f, b := p.Opcode.Flags(), b[BTHLen:]
	if f&headerFlags == 0 {
		return
	}
	if f&HasRDETH != 0 {
		p.RDETH, b = be24(b[1:]), b[RDETHLen:]
	}
	if f&HasDETH != 0 {
		p.DETH, b = DETH{binary.BigEndian.Uint32(b), be24(b[5:])}, b[DETHLen:]
	}
	if f&HasXRCETH != 0 {
		p.XRCSRQ, b = be24(b[1:]), b[XRCETHLen:]
	}
	if f&HasFETH != 0 {
		p.FETH, b = FETH{b[3] >> 4 & 3, b[3] & 0xf}, b[FETHLen:]
	}
	if f&HasRETH != 0 {
		p.RETH = RETH{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])}
		b = b[RETHLen:]
	}
	if f&HasAtomicETH != 0 {
		p.Atomic = AtomicETH{
			binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]),
			binary.BigEndian.Uint64(b[12:]), binary.BigEndian.Uint64(b[20:]),
		}
		b = b[AtomicETHLen:]
	}
	if f&HasAETH != 0 {
		p.AETH, b = AETH{Syndrome(b[0]), be24(b[1:])}, b[AETHLen:]
	}
	if f&HasAtomicAck != 0 {
		p.AtomicAck, b = binary.BigEndian.Uint64(b), b[AtomicAckLen:]
	}
	if f&HasImm != 0 {
		p.Imm, b = binary.BigEndian.Uint32(b), b[ImmLen:]
	}
	if f&HasIETH != 0 {
		p.IETH = binary.BigEndian.Uint32(b)
	}
}

// PutHeaders writes BTH and extension headers to b and returns their length,
// Opcode.HeaderLen(). b must be at least that long (MaxHeaderLen always is);
// the opcode must be a defined one. Reserved bits are written as zero.
func (p *Packet) PutHeaders(b []byte) int {
	n := p.Opcode.HeaderLen()
	b = b[:n]
	b[0] = byte(p.Opcode)
	b[1] = bit(p.Solicited, 0x80) | bit(p.MigReq, 0x40) | p.Pad&3<<4 | p.TVer&0xf
	binary.BigEndian.PutUint16(b[2:], p.PKey)
	binary.BigEndian.PutUint32(b[4:], p.DestQP&mask24)
	b[4] = bit(p.FECN, 0x80) | bit(p.BECN, 0x40)
	binary.BigEndian.PutUint32(b[8:], uint32(p.PSN)&PSNMask)
	b[8] = bit(p.AckReq, 0x80)
	p.putExtensions(b[BTHLen:])
	return n
}

func (p *Packet) putExtensions(b []byte) {
	f := p.Opcode.Flags()
	if f&HasRDETH != 0 {
		binary.BigEndian.PutUint32(b, p.RDETH&mask24)
		b = b[RDETHLen:]
	}
	if f&HasDETH != 0 {
		binary.BigEndian.PutUint32(b, p.DETH.QKey)
		binary.BigEndian.PutUint32(b[4:], p.DETH.SrcQP&mask24)
		b = b[DETHLen:]
	}
	if f&HasXRCETH != 0 {
		binary.BigEndian.PutUint32(b, p.XRCSRQ&mask24)
		b = b[XRCETHLen:]
	}
	if f&HasFETH != 0 {
		binary.BigEndian.PutUint32(b, uint32(p.FETH.Selectivity&3)<<4|uint32(p.FETH.Placement&0xf))
		b = b[FETHLen:]
	}
	if f&HasRETH != 0 {
		binary.BigEndian.PutUint64(b, p.RETH.VA)
		binary.BigEndian.PutUint32(b[8:], p.RETH.RKey)
		binary.BigEndian.PutUint32(b[12:], p.RETH.Len)
		b = b[RETHLen:]
	}
	if f&HasAtomicETH != 0 {
		binary.BigEndian.PutUint64(b, p.Atomic.VA)
		binary.BigEndian.PutUint32(b[8:], p.Atomic.RKey)
		binary.BigEndian.PutUint64(b[12:], p.Atomic.SwapAdd)
		binary.BigEndian.PutUint64(b[20:], p.Atomic.Compare)
		b = b[AtomicETHLen:]
	}
	if f&HasAETH != 0 {
		binary.BigEndian.PutUint32(b, p.AETH.MSN&mask24)
		b[0] = byte(p.AETH.Syndrome)
		b = b[AETHLen:]
	}
	if f&HasAtomicAck != 0 {
		binary.BigEndian.PutUint64(b, p.AtomicAck)
		b = b[AtomicAckLen:]
	}
	if f&HasImm != 0 {
		binary.BigEndian.PutUint32(b, p.Imm)
		b = b[ImmLen:]
	}
	if f&HasIETH != 0 {
		binary.BigEndian.PutUint32(b, p.IETH)
		b = b[IETHLen:]
	}
	if f&HasCNP != 0 {
		clear(b)
	}
}

// mask24 selects the bits of a QPN, an EE context, an SRQ number and an MSN.
const mask24 = 1<<24 - 1

// PadFor is the number of pad bytes that follow n bytes of payload.
func PadFor(n int) uint8 { return uint8(-n & 3) }

func be24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func bit(set bool, mask byte) byte {
	if set {
		return mask
	}
	return 0
}
