package trace

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

var (
	addrA = netip.MustParseAddr("10.0.0.1")
	addrB = netip.MustParseAddr("10.0.0.2")
	addrX = netip.MustParseAddr("fd00::7")
)

// frameOf builds BTH … ICRC in two pieces. The ICRC is a constant: nothing here
// checks it.
func frameOf(p bth.Packet, payload int) [][]byte {
	p.MigReq, p.PKey, p.Pad = true, bth.DefaultPKey, bth.PadFor(payload)
	head := make([]byte, bth.MaxHeaderLen)
	head = head[:p.PutHeaders(head)]
	body := make([]byte, payload+int(p.Pad), payload+int(p.Pad)+wire.ICRCLen)
	for i := range payload {
		body[i] = byte(i)
	}
	return [][]byte{head, binary.BigEndian.AppendUint32(body, 0xfeedface)}
}

const (
	qpA = 0x11
	qpB = 0x12
)

// sent is an event of device a (10.0.0.1) or b, to the other.
func sent(at clock.Time, fromA bool, p bth.Packet, payload int, why transport.Cause) *Event {
	e := &Event{Time: at, Dir: Out, SrcPort: 49152, TrafficClass: classOf(p.Opcode), Flags: 0x4000, Cause: why, ICRC: wire.ICRCGood}
	e.Src, e.Dst, e.QPN, p.DestQP = addrA, addrB, qpA, qpB
	if !fromA {
		e.Src, e.Dst, e.QPN, p.DestQP = addrB, addrA, qpB, qpA
	}
	e.ID = uint16(p.PSN)
	e.Frame = frameOf(p, payload)
	return e
}

// classOf is the traffic class of devices with congestion control: data are ECT(0), with
// the DSCP that the application asked for; CNPs have one of their own.
func classOf(o bth.Opcode) uint8 {
	switch {
	case o == bth.CNP:
		return 48 << 2
	case o.Is(bth.Ack):
		return 26 << 2
	}
	return wire.ECT0.With(26 << 2)
}

// received is the event of the receiver of e.
func received(at clock.Time, e *Event, v transport.Verdict) *Event {
	r := *e
	r.Time, r.Dir, r.Verdict, r.TrafficClass = at, In, v, e.TrafficClass&3
	r.QPN = qpA + qpB - e.QPN
	r.IDKnown = true
	return &r
}

func executed(psn bth.PSN) transport.Verdict {
	return transport.Verdict{Action: transport.Executed, Rule: transport.RuleInOrder, PSN: psn}
}

// conversation is two devices' story: a SEND of five packets of which one is
// lost, the NAK, the repetition; a WRITE that finds no receive; a READ, an atomic; a
// SEND that a switch marks, and the notification; and packets that b drops.
func conversation(a, b Tap) {
	const us = 1000
	at := clock.Time(0)
	pass := func(fromA bool, p bth.Packet, payload int, why transport.Cause, v transport.Verdict) {
		from, to := a, b
		if !fromA {
			from, to = b, a
		}
		e := sent(at, fromA, p, payload, why)
		from.Packet(e)
		to.Packet(received(at+2*us, e, v))
		at += 2500
	}
	lose := func(p bth.Packet, payload int, why transport.Cause) {
		a.Packet(sent(at, true, p, payload, why))
		at += 2500
	}
	send := func(op bth.Opcode, psn bth.PSN) bth.Packet { return bth.Packet{Opcode: op, PSN: psn} }
	ack := func(psn bth.PSN, s bth.Syndrome, msn uint32) bth.Packet {
		return bth.Packet{Opcode: bth.RCAcknowledge, PSN: psn, AETH: bth.AETH{Syndrome: s, MSN: msn}}
	}
	advanced := func(r transport.Rule, psn bth.PSN) transport.Verdict {
		return transport.Verdict{Action: transport.Advanced, Rule: r, PSN: psn}
	}
	const first = transport.CauseFirst

	pass(true, send(bth.RCSendFirst, 100), 64, first, executed(100))
	for psn := range bth.PSN(4) {
		pass(true, send(bth.RCSendMiddle, 101+psn), 64, first, executed(101+psn))
	}
	lose(send(bth.RCSendMiddle, 105), 64, first)
	pass(true, send(bth.RCSendLast, 106), 61, first, transport.Verdict{Action: transport.Refused, Rule: transport.RuleGap, PSN: 105})
	pass(false, ack(105, bth.NAKSequence, 0), 0, transport.CauseNAKSequence, advanced(transport.RuleNAKSequence, 105))
	pass(true, send(bth.RCSendMiddle, 105), 64, transport.CauseNAK, executed(105))
	pass(true, send(bth.RCSendLast, 106), 61, transport.CauseNAK, executed(106))
	pass(false, ack(106, bth.ACKUnlimited, 1), 0, transport.CauseAck, advanced(transport.RuleAck, 106))

	write := send(bth.RCWriteOnlyImm, 107)
	write.RETH, write.Imm = bth.RETH{VA: 0x7f0012345000, RKey: 0x1234abcd, Len: 32}, 0xcafe
	pass(true, write, 32, first, transport.Verdict{Action: transport.Refused, Rule: transport.RuleNotReady, PSN: 107})
	pass(false, ack(107, bth.RNRNAK(14), 1), 0, transport.CauseNAKNotReady, advanced(transport.RuleRNR, 107))

	at += 1280 * us
	pass(true, write, 32, transport.CauseRNR, executed(107))
	pass(false, ack(107, bth.ACKUnlimited, 2), 0, transport.CauseAck, advanced(transport.RuleAck, 107))

	read := send(bth.RCReadRequest, 108)
	read.RETH = bth.RETH{VA: 0x1000, RKey: 0x1234, Len: 16}
	pass(true, read, 0, first, executed(108))
	answer := ack(108, bth.ACKUnlimited, 3)
	answer.Opcode = bth.RCReadRespOnly
	pass(false, answer, 16, transport.CauseAnswer, advanced(transport.RuleReadDone, 108))

	swap := send(bth.RCCompareSwap, 109)
	swap.Atomic = bth.AtomicETH{VA: 0x1008, RKey: 0x1234, SwapAdd: 2, Compare: 1}
	pass(true, swap, 0, first, executed(109))
	answer = ack(109, bth.ACKUnlimited, 4)
	answer.Opcode, answer.AtomicAck = bth.RCAtomicAck, 1
	pass(false, answer, 0, transport.CauseAnswer, advanced(transport.RuleAtomicDone, 109))

	e := sent(at, true, send(bth.RCSendOnly, 110), 32, first)
	a.Packet(e)
	e = received(at+2*us, e, executed(110))
	e.TrafficClass = uint8(wire.CE)
	b.Packet(e)
	at += 2500
	pass(false, bth.Packet{Opcode: bth.CNP, BECN: true}, 0, transport.CauseCNP,
		transport.Verdict{Action: transport.Advanced, Rule: transport.RuleCNP})

	strangers(b, at)
}

// strangers are packets that a device drops: of an unknown peer, by IPv6 and IPv4.
func strangers(b Tap, at clock.Time) {
	e := sent(at, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: 5}, 8, 0)
	e.Dir, e.QPN, e.Src, e.Dst = In, 0, addrX, netip.MustParseAddr("fd00::2")
	e.Verdict = transport.Verdict{Rule: transport.RuleNoQP}
	b.Packet(e)

	e = sent(at+1000, true, bth.Packet{Opcode: bth.RCSendOnly, PSN: 6}, 8, 0)
	e.Dir, e.QPN, e.Src, e.ICRC = In, 0, netip.MustParseAddr("10.0.0.9"), wire.ICRCBad
	e.Verdict = transport.Verdict{Rule: transport.RuleICRC}
	b.Packet(e)

	short := *e
	short.Time, short.Frame = at+2000, [][]byte{{1, 2, 3}}
	short.ICRC = wire.ICRCUnchecked
	short.Verdict.Rule = transport.RuleShort
	b.Packet(&short)
}

// record runs the conversation through a recorder without goroutine.
func record(t *testing.T, sinks ...Sink) {
	t.Helper()
	r := NewSync(sinks...)
	conversation(r.Device("a"), r.Device("b"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
