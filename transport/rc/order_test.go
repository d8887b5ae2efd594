package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestFirstBrokenRuleDecides proves the order of the checks (9.7.4.1): of a request that breaks
// every rule the first is reported; without that fault the next one, and so on to the end.
func TestFirstBrokenRuleDecides(t *testing.T) {
	wrong := func(op bth.Opcode) *packet { // its length and its key are
		return withRETH(request(op, 100, testMTU+4), testMTU+4)
	}
	forbidden := defaults()
	forbidden.access = mr.LocalWrite
	for _, c := range []struct {
		rule     transport.Rule
		o        options
		receives int
		pkt      *packet
	}{
		{transport.RuleDuplicateSend, forbidden, 0, func() *packet { p := wrong(bth.RCWriteMiddle); p.PSN = 99; return p }()},
		{transport.RuleGap, forbidden, 0, func() *packet { p := wrong(bth.RCWriteMiddle); p.PSN = 101; return p }()},
		{transport.RuleSequence, forbidden, 0, wrong(bth.RCWriteLastImm)},
		{transport.RuleNotPermitted, forbidden, 0, wrong(bth.RCWriteOnlyImm)},
		{transport.RuleNotReady, defaults(), 0, wrong(bth.RCWriteOnlyImm)},
		{transport.RuleLength, defaults(), 1, wrong(bth.RCWriteOnlyImm)},
		{transport.RuleDMALength, defaults(), 1, withRETH(request(bth.RCWriteOnlyImm, 100, 8), 9)},
		{transport.RuleKey, defaults(), 1, request(bth.RCWriteOnlyImm, 100, 8)},
	} {
		p := newPair(t, c.o)
		for range c.receives {
			p.b.postRecv(1, 0, 8)
		}
		require.Equal(t, c.rule, p.b.recv(c.pkt).Rule)
	}
}

// TestReorderedPair proves that two packets which change places, in turns of their own, cost one
// NAK and no timeout, and that the work completes once.
func TestReorderedPair(t *testing.T) {
	for _, op := range []qp.Op{qp.OpSend, qp.OpSendImm, qp.OpWrite, qp.OpWriteImm} {
		p := newPair(t, defaults())
		p.b.postRecv(1, 0, 2*testMTU)
		p.b.postRecv(2, 0, 2*testMTU)
		want := p.a.fill(0, 2*testMTU, 1)
		p.a.post(p.ask(op, 0, 2*testMTU))
		sent := p.a.drain()
		naks := p.b.say(sent[1])
		require.Len(t, naks, 1)
		require.Equal(t, bth.AETH{Syndrome: bth.NAKSequence}, naks[0].AETH)
		require.Equal(t, bth.PSN(100), naks[0].PSN)
		late := p.b.say(sent[0])
		p.a.hear(naks...)
		p.a.hear(late...)
		p.flow()
		p.a.requireSends(ok(1)...)
		require.LessOrEqual(t, len(p.b.recvs), 1)
		require.EqualValues(t, 1, p.b.m.Stats().Gaps)
		require.Zero(t, p.a.m.Stats().Timeouts)
		require.Equal(t, want, p.b.snapshot(0, 2*testMTU))
	}
}

// TestEachGapHasItsNAK proves 9.7.5.2.1: one NAK for a gap, however much follows it, and another
// one for the next gap, once the first is filled.
func TestEachGapHasItsNAK(t *testing.T) {
	p := newPair(t, defaults())
	write := func(psn bth.PSN) *packet { return request(bth.RCWriteOnly, psn, 0) }
	for gap := bth.PSN(100); gap < 130; gap += 3 {
		naks := 0
		for range 5 {
			for psn := gap + 1; psn <= gap+2; psn++ {
				for _, answer := range p.b.say(write(psn)) {
					require.Equal(t, bth.NAKSequence, answer.AETH.Syndrome)
					require.Equal(t, gap, answer.PSN)
					naks++
				}
			}
		}
		require.Equal(t, 1, naks)
		p.b.say(write(gap), write(gap+1), write(gap+2))
	}
	p.b.requireAck(p.b.say(write(130)), 130, 31, transport.CauseAck)
}
