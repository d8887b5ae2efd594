package rc_test

import (
	"bytes"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// packet makes a packet of an opcode: in order, or around that.
func (s *subject) packet(r *script, op bth.Opcode) *bth.Packet {
	n := r.length()
	p := &bth.Packet{
		Opcode: op, PSN: s.expected, AckReq: r.byte()&1 != 0, Solicited: r.byte()&1 != 0,
		PKey: bth.DefaultPKey, DestQP: 0x11, Imm: 7, Payload: [2][]byte{make([]byte, n)},
		RETH: bth.RETH{VA: s.region.Base() + uint64(r.length()), RKey: uint32(s.key(r)), Len: uint32(r.length())},
		IETH: uint32(s.key(r)),
		AETH: bth.AETH{Syndrome: bth.ACKUnlimited, MSN: uint32(r.byte())},
	}
	if b := r.byte(); b > 160 {
		p.PSN = p.PSN.Add(uint32(b)).Sub(200)
	}
	p.Atomic = bth.AtomicETH{VA: p.RETH.VA, RKey: p.RETH.RKey, SwapAdd: 1}
	return p
}

// spoil changes a plausible packet for some values of the next byte.
func spoil(r *script, p *bth.Packet) *bth.Packet {
	n := p.PayloadLen()
	p.Pad = bth.PadFor(n)
	switch b := r.byte(); {
	case b > 252:
		p.RETH.RKey ^= uint32(b)
	case b > 249:
		p.RETH.Len = 1<<31 + uint32(b) - 251
	case b > 246:
		p.Pad = b & 3
	case b > 220:
		p.AETH.Syndrome = bth.Syndrome(r.byte())
	case b > 200 && n > 0:
		cut := int(b) % n
		p.Payload = [2][]byte{p.Payload[0][:cut], p.Payload[0][cut:]}
	}
	return p
}

// request makes a request, most of them of a length that fits their opcode, some
// of them once more, or the rest of a READ.
func (s *subject) request(r *script) *bth.Packet {
	if b := r.byte(); b > 230 && s.read.Opcode != 0 {
		p := s.read
		skip := uint32(b&3) * fuzzMTU
		if p.Opcode == bth.RCReadRequest && skip < p.RETH.Len {
			p.PSN, p.RETH.VA, p.RETH.Len = p.PSN.Add(skip/fuzzMTU), p.RETH.VA+uint64(skip), p.RETH.Len-skip
		}
		return &p
	}
	p := s.packet(r, bth.Opcode(r.byte()&0x1f))
	if p.Opcode.Is(bth.Read | bth.Atomic) {
		defer func() { s.read = *p }()
	}
	if r.byte() < 200 {
		fitRequest(p)
	}
	return spoil(r, p)
}

func fitRequest(p *bth.Packet) {
	n := p.PayloadLen() % fuzzMTU
	switch f := p.Opcode.Flags(); {
	case f&bth.Payload == 0:
		n = 0
	case f&bth.Last == 0:
		n = fuzzMTU
		p.RETH.Len = 3 * fuzzMTU
	case f&bth.First == 0:
		n = fuzzMTU
	default:
		p.RETH.Len = uint32(n)
	}
	p.Payload[0] = bytes.Repeat([]byte{byte(p.PSN) | 1}, n)
	p.Atomic.VA &^= 7
}

// response makes a response, most of them the one that the oldest work waits for.
func (s *subject) response(r *script) *bth.Packet {
	p := s.packet(r, bth.RCReadRespFirst+bth.Opcode(r.byte()%6))
	if r.byte() < 200 && s.finished[0] < s.posted[0] {
		s.fitResponse(p, &s.works[s.finished[0]])
	}
	return spoil(r, p)
}

func (s *subject) fitResponse(p *bth.Packet, w *qp.SendWR) {
	n := 0
	switch left := int(w.SGE.Len) - s.got; {
	case w.Op.Atomic():
		p.Opcode = bth.RCAtomicAck
	case w.Op != qp.OpRead:
		p.Opcode = bth.RCAcknowledge
	case left > fuzzMTU:
		n = fuzzMTU
		p.Opcode = bth.RCReadRespMiddle
		if s.got == 0 {
			p.Opcode = bth.RCReadRespFirst
		}
	default:
		n = left
		p.Opcode = bth.RCReadRespLast
		if s.got == 0 {
			p.Opcode = bth.RCReadRespOnly
		}
	}
	p.Payload[0] = make([]byte, n)
}
