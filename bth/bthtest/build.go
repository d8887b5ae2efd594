package bthtest

import (
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// DefaultQP is the destination of packets for which [QP] names none.
const DefaultQP = 0x11

// Option sets what matters of a packet.
type Option func(*bth.Packet)

// New describes a packet: default P_Key, MigReq set, [DefaultQP], PSN 0, no
// payload, extension headers zero. The pad follows from the payload.
func New(op bth.Opcode, opts ...Option) *bth.Packet {
	p := &bth.Packet{Opcode: op, MigReq: true, PKey: bth.DefaultPKey, DestQP: DefaultQP}
	for _, o := range opts {
		o(p)
	}
	return p
}

// Build is [Encode] of [New].
func Build(op bth.Opcode, opts ...Option) []byte { return Encode(New(op, opts...)) }

// Encode returns the bytes of a packet, BTH to pad.
func Encode(p *bth.Packet) []byte {
	b := make([]byte, bth.MaxHeaderLen)
	b = b[:p.PutHeaders(b)]
	b = append(append(b, p.Payload[0]...), p.Payload[1]...)
	return append(b, make([]byte, p.Pad)...)
}

// Sealed returns the bytes of a packet as the UDP payload of the path carries them,
// BTH to ICRC. id is the IPv4 identification. The path must be prepared.
func Sealed(path *wire.Path, id uint16, p *bth.Packet) []byte {
	b := append(Encode(p), make([]byte, wire.ICRCLen)...)
	head, tail := p.Opcode.HeaderLen(), len(b)-wire.ICRCLen-int(p.Pad)
	path.Seal(id, b[:head], [][]byte{b[head:tail]}, b[tail:])
	return b
}

// QP sets the destination queue pair.
func QP(n uint32) Option { return func(p *bth.Packet) { p.DestQP = n } }

// PSN sets the packet sequence number.
func PSN(n bth.PSN) Option { return func(p *bth.Packet) { p.PSN = n } }

// AckReq asks for an acknowledgement.
func AckReq(p *bth.Packet) { p.AckReq = true }

// Solicited sets the solicited event bit.
func Solicited(p *bth.Packet) { p.Solicited = true }

// BECN marks a packet as CNPs are.
func BECN(p *bth.Packet) { p.BECN = true }

// Payload sets the payload, lent, and the pad it needs.
func Payload(b []byte) Option {
	return func(p *bth.Packet) { p.Payload, p.Pad = [2][]byte{b}, bth.PadFor(len(b)) }
}

// Pattern sets a payload of n bytes that differ from their neighbours.
func Pattern(n int) Option {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return Payload(b)
}

// RETH sets the remote address, key and length of the message.
func RETH(va uint64, key, n uint32) Option {
	return func(p *bth.Packet) { p.RETH = bth.RETH{VA: va, RKey: key, Len: n} }
}

// AETH sets syndrome and message sequence number.
func AETH(s bth.Syndrome, msn uint32) Option {
	return func(p *bth.Packet) { p.AETH = bth.AETH{Syndrome: s, MSN: msn} }
}

// Atomic sets the operands of an atomic.
func Atomic(a bth.AtomicETH) Option { return func(p *bth.Packet) { p.Atomic = a } }

// AtomicAck sets the value an atomic found.
func AtomicAck(original uint64) Option { return func(p *bth.Packet) { p.AtomicAck = original } }

// DETH sets Q_Key and source of a datagram.
func DETH(qkey, srcQP uint32) Option {
	return func(p *bth.Packet) { p.DETH = bth.DETH{QKey: qkey, SrcQP: srcQP} }
}

// Imm sets the immediate data.
func Imm(v uint32) Option { return func(p *bth.Packet) { p.Imm = v } }

// Invalidate sets the R_Key to invalidate.
func Invalidate(key uint32) Option { return func(p *bth.Packet) { p.IETH = key } }
