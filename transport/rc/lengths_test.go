package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// dataOps are the opcodes that may carry payload to a responder.
func dataOps() (ops []bth.Opcode) {
	for op := range bth.Opcode(0x20) {
		if op.Is(bth.Request|bth.Payload) && (op.Is(bth.Send) || op.Is(bth.Write)) && op != bth.RCAtomicWrite {
			ops = append(ops, op)
		}
	}
	return ops
}

// scriptWith is what leads to a packet of this opcode with n bytes, that packet included. A
// WRITE's RETH fits the whole, so that n alone can be wrong.
func scriptWith(op bth.Opcode, n int) []*packet {
	total := n
	switch {
	case !op.Is(bth.Last):
		total = 4 * testMTU
	case !op.Is(bth.First):
		total = testMTU + max(n, 1)
	}
	if op.Is(bth.First) {
		return []*packet{withRETH(request(op, 100, n), uint32(total))}
	}
	first := bth.RCSendFirst
	if op.Is(bth.Write) {
		first = bth.RCWriteFirst
	}
	return []*packet{withRETH(request(first, 100, testMTU), uint32(total)), request(op, 101, n)}
}

// legal reports whether a packet of this opcode may have n bytes (9.7.4.1.6).
func legal(op bth.Opcode, n int) bool {
	switch {
	case !op.Is(bth.Last):
		return n == testMTU
	case !op.Is(bth.First):
		return n > 0 && n <= testMTU
	}
	return n <= testMTU
}

// TestLengthOfEveryOpcode proves 9.7.4.1.6, and R25 for its whole kind: for every opcode with
// payload, every kind of length is either executed or refused with NAK invalid request, as
// the path MTU and the place in the message say. A pad that does not fit is refused too.
func TestLengthOfEveryOpcode(t *testing.T) {
	ops := dataOps()
	require.Len(t, ops, 14)
	refused := 0
	for _, op := range ops {
		for _, n := range []int{0, 1, 3, 4, 8, testMTU / 2, testMTU - 4, testMTU - 1, testMTU, testMTU + 1, testMTU + 4, 2 * testMTU} {
			script := scriptWith(op, n)
			if !legal(op, n) {
				refused++
				t.Run(fmt.Sprintf("%s of %d", op, n), func(t *testing.T) { refusesLast(t, transport.RuleLength, script) })
				continue
			}
			pad := bth.PadFor(n) ^ 1
			wrong := scriptWith(op, n)
			withPad(wrong[len(wrong)-1], pad)
			t.Run(fmt.Sprintf("%s of %d, pad %d", op, n, pad), func(t *testing.T) { refusesLast(t, transport.RuleLength, wrong) })
			if op.Is(bth.HasIETH) {
				continue // executed in TestSendInvalidate
			}
			p := newPair(t, defaults())
			p.b.postRecv(1, 0, memSize)
			for _, pkt := range script {
				require.Equal(t, transport.Executed, p.b.recv(p.b.onto(pkt)).Action, "%s of %d", op, n)
			}
		}
	}
	require.Greater(t, refused, 70)
}

// TestNoPayloadWhereNoneBelongs proves it of requests that carry none.
func TestNoPayloadWhereNoneBelongs(t *testing.T) {
	scripts := map[string][]*packet{}
	for _, op := range []bth.Opcode{bth.RCReadRequest, bth.RCCompareSwap, bth.RCFetchAdd} {
		for _, n := range []int{1, 4, 8} {
			scripts[fmt.Sprintf("%s with %d bytes", op, n)] = []*packet{request(op, 100, n)}
		}
		scripts[fmt.Sprintf("%s with pad", op)] = []*packet{withPad(request(op, 100, 0), 3)}
	}
	refuseLast(t, transport.RuleLength, scripts)
}

// TestTotalOfWrite proves that a WRITE's packets must add up to the length in its RETH, in
// every way in which they may not (R25).
func TestTotalOfWrite(t *testing.T) {
	first := func(total uint32) *packet { return withRETH(request(bth.RCWriteFirst, 100, testMTU), total) }
	scripts := map[string][]*packet{}
	for _, imm := range []bool{false, true} {
		last, only := bth.RCWriteLast, bth.RCWriteOnly
		if imm {
			last, only = bth.RCWriteLastImm, bth.RCWriteOnlyImm
		}
		name := func(s string) string { return fmt.Sprintf("%s, immediate %v", s, imm) }
		scripts[name("Only, one less")] = []*packet{withRETH(request(only, 100, 8), 7)}
		scripts[name("Only, one more")] = []*packet{withRETH(request(only, 100, 8), 9)}
		scripts[name("Only, none said")] = []*packet{withRETH(request(only, 100, 8), 0)}
		scripts[name("Only, none there")] = []*packet{withRETH(request(only, 100, 0), 8)}
		scripts[name("Last, one less")] = []*packet{first(testMTU + 8), request(last, 101, 7)}
		scripts[name("Last, one more")] = []*packet{first(testMTU + 8), request(last, 101, 9)}
		scripts[name("Last too early")] = []*packet{first(2*testMTU + 8), request(last, 101, 8)}
		scripts[name("Only over 2^31")] = []*packet{withRETH(request(only, 100, 8), 1<<31+1)}
	}
	scripts["Middle too many"] = []*packet{first(2*testMTU + 8), request(bth.RCWriteMiddle, 101, testMTU), request(bth.RCWriteMiddle, 102, testMTU)}
	scripts["First is all"] = []*packet{first(testMTU)}
	scripts["First, all ones"] = []*packet{first(1<<32 - 1)}
	scripts["READ, all ones"] = []*packet{withRETH(request(bth.RCReadRequest, 100, 0), 1<<32-1)}
	refuseLast(t, transport.RuleDMALength, scripts)
}

// TestTooLongInEveryPlace proves that a SEND of any form longer than its receive is refused
// by the first packet that does not fit: NAK invalid request with that PSN, LOC_LEN for the
// receive and REM_INV_REQ for the SEND; the receives behind it are flushed (R25).
func TestTooLongInEveryPlace(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm} {
		for n, rooms := range map[int][]int{1: {0}, testMTU: {0, 1, testMTU - 1}, 3 * testMTU: {0, testMTU - 1, testMTU, 2*testMTU - 1, 2 * testMTU, 3*testMTU - 1}} {
			for _, room := range rooms {
				p := newPair(t, defaults())
				p.b.postRecv(1, 0, room)
				p.b.postRecv(2, 0, 10)
				p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(0, n)})
				naks := p.b.say(p.a.drain()...)
				require.Len(t, naks, 1)
				require.Equal(t, bth.NAKInvalidRequest, naks[0].AETH.Syndrome)
				require.EqualValues(t, 100+room/testMTU, naks[0].PSN, "%d bytes for %d", n, room)
				p.a.recv(naks[0])
				p.a.requireSends(cq.StatusRemoteInvalid)
				p.b.requireRecvs(cq.StatusLocalLength, cq.StatusFlushed)
			}
		}
	}
}

// TestZeroLengthOnTheWire proves C18 and section 9.7.3's rule that an empty message is one
// packet: with keys and addresses that mean nothing, on a queue pair that permits it, also when the
// answer is lost and the request comes again. The answer of a READ is one Only without payload.
func TestZeroLengthOnTheWire(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm, qp.OpWrite, qp.OpWriteImm, qp.OpRead} {
		p := newPair(t, defaults())
		p.b.postRecv(1, 0, 0)
		p.a.post(qp.SendWR{Op: op, RKey: 0xdeadbeef})
		p.a.post(qp.SendWR{Op: qp.OpWrite, RKey: 0xdeadbeef})
		sent := p.a.drain()
		require.Equal(t, []bth.PSN{100, 101}, psnsOf(sent), "%s takes one PSN", op)
		require.Zero(t, sent[0].PayloadLen())
		require.Len(t, p.b.say(sent[0]), 1) // lost
		p.advance(p.a)
		answers := p.b.say(p.a.drain()[0])
		require.Len(t, answers, 1)
		if op == qp.OpRead {
			require.Equal(t, bth.RCReadRespOnly, answers[0].Opcode)
			require.Zero(t, answers[0].PayloadLen())
		}
		require.EqualValues(t, 1, answers[0].AETH.MSN)
		p.a.recv(answers[0])
		p.a.requireSends(ok(1)...)
		require.Len(t, p.b.recvs, map[bool]int{true: 1}[op.ConsumesRecv()])
	}
}
