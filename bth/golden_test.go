package bth_test

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
)

func parseHexByte(t *testing.T, s string) bth.Opcode {
	n, err := strconv.ParseUint(s, 16, 8)
	require.NoError(t, err)
	return bth.Opcode(n)
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// golden says what the packets of real devices hold.
var golden = map[string]bth.Packet{
	"SEND Only, empty": {Opcode: bth.RCSendOnly, DestQP: 0x45, AckReq: true, PSN: 0x500},
	"SEND Only, pad 3": {Opcode: bth.RCSendOnly, Pad: 3, DestQP: 0x13, AckReq: true, PSN: 0x78933a,
		Payload: [2][]byte{bytes.Repeat([]byte{0x7b}, 61)}},
	"SEND Only with Invalidate": {Opcode: bth.RCSendOnlyInv, DestQP: 0x59, AckReq: true, PSN: 0xb2ead8, IETH: 0x6d39,
		Payload: [2][]byte{{0: 1, 8: 1, 15: 0}}},
	"RDMA WRITE Only, empty": {Opcode: bth.RCWriteOnly, DestQP: 0x46, AckReq: true, PSN: 0x500,
		RETH: bth.RETH{VA: 0x5619db144000, RKey: 0x42f8}},
	"RDMA WRITE Only": {Opcode: bth.RCWriteOnly, DestQP: 0x30, AckReq: true, PSN: 0xe24624,
		RETH: bth.RETH{VA: 0x5596a612e000, RKey: 0x2b33, Len: 64}, Payload: [2][]byte{{63: 1}}},
	"RDMA WRITE Only with Immediate": {Opcode: bth.RCWriteOnlyImm, DestQP: 0x1e, AckReq: true, PSN: 0x208f3e,
		RETH: bth.RETH{VA: 0x7f1dbc00c010, RKey: 0x132a, Len: 16}, Imm: 0x80000180,
		Payload: [2][]byte{{0, 0x80, 0x4e, 0x47, 0x59, 0x55, 0, 0, 0xfc, 0x1a, 0, 0, 0, 0x40, 0, 0}}},
	"RDMA READ Request": {Opcode: bth.RCReadRequest, DestQP: 0x25, AckReq: true, PSN: 0xb79874,
		RETH: bth.RETH{VA: 0x55e3d8052000, RKey: 0x1bdd, Len: 3000}},
	"CmpSwap": {Opcode: bth.RCCompareSwap, DestQP: 0x2b, AckReq: true, PSN: 0x8fad1f,
		Atomic: bth.AtomicETH{VA: 0x559100597000, RKey: 0x2178}},
	"FetchAdd": {Opcode: bth.RCFetchAdd, DestQP: 0x28, AckReq: true, PSN: 0xba6edd,
		Atomic: bth.AtomicETH{VA: 0x55588bb48000, RKey: 0x1e36, SwapAdd: 1}},
	"ATOMIC Acknowledge": {Opcode: bth.RCAtomicAck, DestQP: 0x2c, PSN: 0x8fad1f,
		AETH: bth.AETH{Syndrome: bth.ACKUnlimited, MSN: 1}, AtomicAck: 0x799c83972aa39356},
	"Acknowledge": {Opcode: bth.RCAcknowledge, DestQP: 0x3f, PSN: 0x7e8b5f,
		AETH: bth.AETH{Syndrome: bth.ACKUnlimited}},
	"RNR NAK": {Opcode: bth.RCAcknowledge, DestQP: 0x56, PSN: 0x500,
		AETH: bth.AETH{Syndrome: bth.RNRNAK(14)}},
	"NAK PSN sequence error": {Opcode: bth.RCAcknowledge, DestQP: 0x11, PSN: 0x0bba0b,
		AETH: bth.AETH{Syndrome: bth.NAKSequence, MSN: 1}},
	"NAK remote access error": {Opcode: bth.RCAcknowledge, DestQP: 0x50, PSN: 0x500,
		AETH: bth.AETH{Syndrome: bth.NAKRemoteAccess}},
	"NAK remote operational error": {Opcode: bth.RCAcknowledge, DestQP: 0x54, PSN: 0x500,
		AETH: bth.AETH{Syndrome: bth.NAKRemoteOperation}},
	"Acknowledge, IPv6": {Opcode: bth.RCAcknowledge, DestQP: 0x14, PSN: 0xe59721,
		AETH: bth.AETH{Syndrome: bth.ACKUnlimited, MSN: 1}},
	"CNP, ConnectX-4 Lx": {Opcode: bth.CNP, BECN: true, DestQP: 0x118},
}

func TestGoldenPackets(t *testing.T) {
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			raw := bthtest.FrameNamed(t, name).Packet(t)
			want.PKey = bth.DefaultPKey
			got := bthtest.Parse(t, raw)
			want.Payload[0] = append([]byte{}, want.Payload[0]...) // nil and empty are one
			got.Payload[0] = append([]byte{}, got.Payload[0]...)
			require.Equal(t, &want, got)
			require.Equal(t, raw, bthtest.Encode(&want))
		})
	}
}

// constructed holds the layouts that no capture has.
var constructed = []struct {
	hex  string
	want bth.Packet
}{
	{"05f0ffff00abcdef80fedcba 11223344 ff000000", bth.Packet{Opcode: bth.RCSendOnlyImm, Solicited: true, MigReq: true, Pad: 3,
		PKey: 0xffff, DestQP: 0xabcdef, AckReq: true, PSN: 0xfedcba, Imm: 0x11223344, Payload: [2][]byte{{0xff}}}},
	{"160012340000000100000002 a1b2c3d4 01020304", bth.Packet{Opcode: bth.RCSendLastInv, PKey: 0x1234, DestQP: 1, PSN: 2,
		IETH: 0xa1b2c3d4, Payload: [2][]byte{{1, 2, 3, 4}}}},
	{"1c00ffff8000000180000002 00000012 1112131415161718 21222324 31323334", bth.Packet{Opcode: bth.RCFlush, PKey: 0xffff, FECN: true,
		DestQP: 1, AckReq: true, PSN: 2, FETH: bth.FETH{Selectivity: 1, Placement: 2},
		RETH: bth.RETH{VA: 0x1112131415161718, RKey: 0x21222324, Len: 0x31323334}}},
	{"1300ffff0000000100000002 1112131415161718 21222324 3132333435363738 4142434445464748", bth.Packet{Opcode: bth.RCCompareSwap,
		PKey: 0xffff, DestQP: 1, PSN: 2,
		Atomic: bth.AtomicETH{VA: 0x1112131415161718, RKey: 0x21222324, SwapAdd: 0x3132333435363738, Compare: 0x4142434445464748}}},
	{"6500ffff0000000100000002 80010000 00abcdef 11223344", bth.Packet{Opcode: bth.UDSendOnlyImm, PKey: 0xffff, DestQP: 1, PSN: 2,
		DETH: bth.DETH{QKey: 0x80010000, SrcQP: 0xabcdef}, Imm: 0x11223344}},
	{"4c00ffff0000000100000002 00112233 55667788 00abcdef 1112131415161718 21222324 31323334", bth.Packet{Opcode: 0x4c, PKey: 0xffff,
		DestQP: 1, PSN: 2, RDETH: 0x112233, DETH: bth.DETH{QKey: 0x55667788, SrcQP: 0xabcdef},
		RETH: bth.RETH{VA: 0x1112131415161718, RKey: 0x21222324, Len: 0x31323334}}},
	{"ab00ffff0000000100000002 00abcdef 1112131415161718 21222324 00000000 11223344", bth.Packet{Opcode: 0xab, PKey: 0xffff,
		DestQP: 1, PSN: 2, XRCSRQ: 0xabcdef, RETH: bth.RETH{VA: 0x1112131415161718, RKey: 0x21222324}, Imm: 0x11223344}},
}

func TestConstructedPackets(t *testing.T) {
	for _, c := range constructed {
		t.Run(c.want.Opcode.String(), func(t *testing.T) {
			raw := unhex(t, c.hex)
			bthtest.Equal(t, &c.want, bthtest.Parse(t, raw))
			require.Equal(t, raw, bthtest.Encode(&c.want))
		})
	}
}
