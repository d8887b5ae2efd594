package trace

import (
	"testing"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// Every kind of packet has its words, and the numbers in them are of the base that
// operators know them in.
func TestLabel(t *testing.T) {
	reth := bth.RETH{VA: 0x1000, RKey: 0x1234, Len: 4096}
	deth := bth.DETH{QKey: 0x11111111, SrcQP: 0x31}
	atomic := bth.AtomicETH{VA: 0x1000, RKey: 0x1234, SwapAdd: 255, Compare: 16}
	k := [2][]byte{make([]byte, 1000), make([]byte, 24)}
	aeth := func(s bth.Syndrome) bth.AETH { return bth.AETH{Syndrome: s, MSN: 5} }

	for _, c := range []struct {
		p    bth.Packet
		want string
	}{
		{bth.Packet{Opcode: bth.RCSendOnly, PSN: 4711, Payload: k}, "SEND Only PSN 4711 (1024 B)"},
		{bth.Packet{Opcode: bth.RCSendOnly}, "SEND Only PSN 0 (0 B)"},
		{bth.Packet{Opcode: bth.RCSendLastImm, PSN: 1, Imm: 0xcafe}, "SEND Last with Immediate PSN 1 imm 0xcafe (0 B)"},
		{bth.Packet{Opcode: bth.RCSendOnlyInv, PSN: 1, IETH: 0x77}, "SEND Only with Invalidate PSN 1 invalidates rkey 0x77 (0 B)"},
		{bth.Packet{Opcode: bth.RCWriteFirst, PSN: 100, RETH: reth, Payload: k}, "RDMA WRITE First PSN 100 va 0x1000 rkey 0x1234 len 4096 (1024 B)"},
		{bth.Packet{Opcode: bth.RCReadRequest, PSN: 100, RETH: reth}, "RDMA READ Request PSN 100 va 0x1000 rkey 0x1234 len 4096"},
		{bth.Packet{Opcode: bth.RCReadRespFirst, PSN: 100, AETH: aeth(bth.ACKUnlimited), Payload: k}, "RDMA READ Response First PSN 100 MSN 5 (1024 B)"},
		{bth.Packet{Opcode: bth.RCReadRespOnly, AETH: aeth(bth.NAKSequence)}, "RDMA READ Response Only PSN 0 MSN 5 with NAK PSN sequence error (0 B)"},
		{bth.Packet{Opcode: bth.RCCompareSwap, PSN: 9, Atomic: atomic}, "CmpSwap PSN 9 va 0x1000 rkey 0x1234 compare 0x10 swap 0xff"},
		{bth.Packet{Opcode: bth.RCFetchAdd, PSN: 9, Atomic: atomic}, "FetchAdd PSN 9 va 0x1000 rkey 0x1234 add 0xff"},
		{bth.Packet{Opcode: bth.RCAtomicAck, PSN: 9, AETH: aeth(bth.ACKUnlimited), AtomicAck: 16}, "ATOMIC Acknowledge PSN 9 MSN 5 original 0x10"},
		{bth.Packet{Opcode: bth.RCAcknowledge, PSN: 103, AETH: aeth(bth.ACKUnlimited)}, "ACK PSN 103 MSN 5 syndrome 0x1f"},
		{bth.Packet{Opcode: bth.RCAcknowledge, PSN: 7, AETH: aeth(bth.NAKSequence)}, "NAK PSN sequence error PSN 7 MSN 5 syndrome 0x60"},
		{bth.Packet{Opcode: bth.RCAcknowledge, PSN: 7, AETH: aeth(bth.RNRNAK(14))}, "RNR NAK (wait 1.28ms) PSN 7 MSN 5 syndrome 0x2e"},
		{bth.Packet{Opcode: bth.RCAcknowledge, PSN: 7, AETH: aeth(0x80)}, "reserved syndrome 0x80 PSN 7 MSN 5 syndrome 0x80"},
		{bth.Packet{Opcode: bth.UDSendOnly, PSN: 3, DETH: deth, Payload: k}, "UD SEND Only PSN 3 from QP 0x31 qkey 0x11111111 (1024 B)"},
		{bth.Packet{Opcode: bth.Opcode(0xa4), PSN: 3, XRCSRQ: 0x99}, "XRC SEND Only PSN 3 srq 0x99 (0 B)"},
		{bth.Packet{Opcode: bth.Opcode(0xb1), PSN: 3, AETH: aeth(bth.ACKUnlimited)}, "XRC ACK PSN 3 MSN 5 syndrome 0x1f"},
		{bth.Packet{Opcode: bth.CNP, DestQP: 0x12}, "CNP for QP 0x12"},
	} {
		if got := Label(&c.p); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// What is not a whole packet is still told apart.
func TestLabelOfBrokenFrames(t *testing.T) {
	whole := sent(0, true, bth.Packet{Opcode: bth.RCWriteOnly, PSN: 7}, 0, 0).Frame[0]
	reserved := append([]byte{0x1f}, whole[1:]...)
	for _, c := range []struct {
		frame []byte
		want  string
	}{
		{nil, "0 bytes, too few for a packet"},
		{whole[:15], "15 bytes, too few for a packet"},
		{whole[:16], "RDMA WRITE Only PSN 7, 16 bytes: packet shorter than its headers and pad"},
		{reserved, "reserved opcode 0x1f PSN 7, 28 bytes: undefined opcode"},
	} {
		r := Record{Event: Event{Frame: [][]byte{c.frame}}}
		r.parse()
		if got := r.Label(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// The comment says what was done, why, and how sure the ICRC is.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Dir: Out, QPN: 0x12, ICRC: wire.ICRCGood}, "QP 0x12: first transmission"},
		{Event{Dir: Out, QPN: 0x12, Cause: transport.CauseTimeout, ICRC: wire.ICRCGood}, "QP 0x12: retransmission: no acknowledgement in time"},
		{Event{QPN: 0x12, Verdict: executed(4711), ICRC: wire.ICRCGood}, "QP 0x12: executed: expected request (PSN 4711)"},
		{Event{QPN: 0x12, Verdict: executed(4711), ICRC: wire.ICRCInferred}, "QP 0x12: executed: expected request (PSN 4711); ICRC inferred (IPv4 identification unseen)"},
		{Event{Verdict: transport.Verdict{Rule: transport.RuleNoQP}, ICRC: wire.ICRCGood}, "dropped: no such destination QP"},
		{Event{Verdict: transport.Verdict{Rule: transport.RuleShort}}, "dropped: packet shorter than its headers, pad and ICRC; ICRC unchecked"},
		{Event{Verdict: transport.Verdict{Rule: transport.RuleICRC}, ICRC: wire.ICRCBad}, "dropped: bad ICRC: corrupted, or addresses changed in flight"},
		{Event{Dir: Out, QPN: 1, ICRC: wire.ICRCBad}, "QP 0x1: first transmission; ICRC bad"},
	} {
		if got := c.e.Why(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
