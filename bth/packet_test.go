package bth_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/internal/testenv"
)

// known lists the defined opcodes.
func known() (ops []bth.Opcode) {
	for v := range 256 {
		if op := bth.Opcode(v); op.Known() {
			ops = append(ops, op)
		}
	}
	return ops
}

// random returns a packet with every field drawn, those included that the opcode
// does not have.
func random(r *rand.Rand, op bth.Opcode) *bth.Packet {
	bits := func(n int) uint32 { return r.Uint32() >> (32 - n) }
	return bthtest.New(op, bthtest.QP(bits(24)), bthtest.PSN(bth.PSN(bits(24))), bthtest.Pattern(int(bits(5))),
		bthtest.RETH(r.Uint64(), r.Uint32(), r.Uint32()), bthtest.AETH(bth.Syndrome(bits(8)), bits(24)),
		bthtest.Atomic(bth.AtomicETH{VA: r.Uint64(), RKey: r.Uint32(), SwapAdd: r.Uint64(), Compare: r.Uint64()}),
		bthtest.AtomicAck(r.Uint64()), bthtest.DETH(r.Uint32(), bits(24)), bthtest.Imm(r.Uint32()), bthtest.Invalidate(r.Uint32()),
		func(p *bth.Packet) {
			p.Solicited, p.MigReq, p.AckReq, p.FECN, p.BECN = bits(1) == 1, bits(1) == 1, bits(1) == 1, bits(1) == 1, bits(1) == 1
			p.PKey, p.RDETH, p.XRCSRQ = uint16(bits(16)), bits(24), bits(24)
			p.FETH = bth.FETH{Selectivity: uint8(bits(2)), Placement: uint8(bits(4))}
		})
}

// Every header that an opcode has comes back, and every byte is the same again.
func TestRoundTripEveryOpcode(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for _, op := range known() {
		for range 50 {
			want := random(r, op)
			raw := bthtest.Encode(want)
			got := bthtest.Parse(t, raw)
			require.Equal(t, raw, bthtest.Encode(got), "%v", op)
			keepHeaders(want)
			want.Payload[0], got.Payload[0] = nil, nil
			require.Equal(t, want, got, "%v", op)
		}
	}
}

// keepHeaders clears the fields of headers that the opcode does not have.
func keepHeaders(p *bth.Packet) {
	full := *p
	*p = bth.Packet{Opcode: p.Opcode, Solicited: p.Solicited, MigReq: p.MigReq, Pad: p.Pad, PKey: p.PKey,
		FECN: p.FECN, BECN: p.BECN, DestQP: p.DestQP, AckReq: p.AckReq, PSN: p.PSN, Payload: p.Payload}
	for flag, keep := range map[bth.Flags]func(){
		bth.HasRDETH: func() { p.RDETH = full.RDETH }, bth.HasDETH: func() { p.DETH = full.DETH },
		bth.HasXRCETH: func() { p.XRCSRQ = full.XRCSRQ }, bth.HasRETH: func() { p.RETH = full.RETH },
		bth.HasAtomicETH: func() { p.Atomic = full.Atomic }, bth.HasAETH: func() { p.AETH = full.AETH },
		bth.HasAtomicAck: func() { p.AtomicAck = full.AtomicAck }, bth.HasImm: func() { p.Imm = full.Imm },
		bth.HasIETH: func() { p.IETH = full.IETH }, bth.HasFETH: func() { p.FETH = full.FETH },
	} {
		if p.Opcode.Is(flag) {
			keep()
		}
	}
}

// However a packet is cut in two behind its headers, it parses to the same.
func TestParseTwoPieces(t *testing.T) {
	for _, op := range known() {
		raw := bthtest.Build(op, bthtest.Pattern(9))
		for cut := op.HeaderLen(); cut <= len(raw); cut++ {
			var p bth.Packet
			require.NoError(t, p.Parse(raw[:cut], raw[cut:]))
			require.Equal(t, 9, p.PayloadLen(), "%v cut at %d", op, cut)
			require.Equal(t, raw, bthtest.Encode(&p), "%v cut at %d", op, cut)
		}
	}
}

func TestParseTruncatedAtEveryLength(t *testing.T) {
	for _, op := range known() {
		raw := bthtest.Build(op, bthtest.Pattern(1)) // pad 3
		for n := range raw {
			var p bth.Packet
			err := p.Parse(raw[:n:n], nil)
			if n < op.HeaderLen()+3 {
				require.ErrorIs(t, err, bth.ErrShort, "%v, %d bytes", op, n)
				require.Zero(t, p.PayloadLen())
			} else {
				require.NoError(t, err)
			}
		}
		var p bth.Packet
		require.ErrorIs(t, p.Parse(raw[:op.HeaderLen()-1], raw[op.HeaderLen()-1:]), bth.ErrShort, "%v: headers in two pieces", op)
	}
}

func TestParseErrors(t *testing.T) {
	var p bth.Packet
	require.ErrorIs(t, p.ParseBTH(make([]byte, 11)), bth.ErrShort)
	for v := range 256 {
		if op := bth.Opcode(v); !op.Known() {
			raw := make([]byte, 64)
			raw[0] = byte(op)
			require.ErrorIs(t, p.Parse(raw, nil), bth.ErrOpcode, "%#02x", v)
		}
	}
	for version := byte(1); version < 16; version++ {
		raw := bthtest.Build(bth.RCSendOnly)
		raw[1] |= version
		require.ErrorIs(t, p.Parse(raw, nil), bth.ErrVersion)
	}
}

// An error leaves nothing of an earlier packet's payload.
func TestParseErrorClearsPayload(t *testing.T) {
	p := bthtest.Parse(t, bthtest.Build(bth.RCSendOnly, bthtest.Pattern(8)))
	require.Error(t, p.Parse(nil, nil))
	require.Zero(t, p.PayloadLen())
}

func TestCodecDoesNotAllocate(t *testing.T) {
	raw := bthtest.Build(bth.RCCompareSwap)
	p, b := new(bth.Packet), make([]byte, bth.MaxHeaderLen)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := p.Parse(raw, nil); err != nil {
			t.Error(err)
		}
		p.PutHeaders(b)
	}))
}

func BenchmarkParse(b *testing.B) {
	raw, p := bthtest.Build(bth.RCWriteOnly, bthtest.Pattern(64)), new(bth.Packet)
	for b.Loop() {
		if err := p.Parse(raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPutHeaders(b *testing.B) {
	p, buf := bthtest.New(bth.RCWriteOnly), make([]byte, bth.MaxHeaderLen)
	for b.Loop() {
		p.PutHeaders(buf)
	}
}
