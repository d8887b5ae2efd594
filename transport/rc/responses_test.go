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

// responseOps are the opcodes that a requester receives.
var responseOps = []bth.Opcode{
	bth.RCReadRespFirst, bth.RCReadRespMiddle, bth.RCReadRespLast, bth.RCReadRespOnly, bth.RCAcknowledge, bth.RCAtomicAck,
}

// outstanding is a pair in which A has three requests of a kind on the wire, none answered;
// the PSN behind them is next.
func outstanding(t *testing.T, op qp.Op, n int) (p *pair, next bth.PSN) {
	t.Helper()
	p = newPair(t, defaults())
	for range 3 {
		p.a.post(p.ask(op, 0, n))
	}
	p.a.drain()
	per := (n + testMTU - 1) / testMTU
	if op.Atomic() {
		per = 1
	}
	return p, bth.PSN(100 + 3*per)
}

// TestGhosts proves 9.7.5.1.1, and R29 for its whole kind: answers of every form, with every
// syndrome, whose PSN is older than what is outstanding or was never sent, change nothing.
func TestGhosts(t *testing.T) {
	for _, op := range wireOps {
		p, next := outstanding(t, op, 3*testMTU)
		before := p.a.snapshot(0, memSize)
		deadline := p.a.m.Deadline()
		for _, psn := range []bth.PSN{0, 50, 98, 99, next, next + 1, next + 5000, 1<<23 + 99, bth.PSNMask} {
			for _, answer := range responseOps {
				for s := range 256 {
					pkt := response(answer, psn, 0)
					pkt.AETH.Syndrome = bth.Syndrome(s)
					v := p.a.recv(pkt)
					require.Equal(t, transport.Ignored, v.Action, "%s to %s, PSN %d, syndrome %#x: %s", answer, op, psn, s, v)
				}
			}
		}
		require.Equal(t, qp.StateRTS, p.a.m.State())
		require.Empty(t, p.a.sends)
		require.Empty(t, p.a.drain())
		require.Equal(t, deadline, p.a.m.Deadline(), "a ghost is no progress")
		require.Equal(t, before, p.a.snapshot(0, memSize))
	}
}

// TestAnswersOfTheWrongKind proves 9.9.2.3: an answer in the right place that is no answer to
// its request fails that as a bad response, the rest is flushed, and nothing is written. The
// one that may come there is an acknowledgement of a READ or atomic: it implies that the
// answer was lost.
func TestAnswersOfTheWrongKind(t *testing.T) {
	for _, op := range wireOps {
		for _, answer := range responseOps {
			if answer == bth.RCAtomicAck && op.Atomic() || answer == bth.RCAcknowledge || op == qp.OpRead && answer.Is(bth.Read) {
				continue
			}
			t.Run(fmt.Sprintf("%s to %s", answer, op), func(t *testing.T) {
				p, _ := outstanding(t, op, 3*testMTU)
				before := p.a.snapshot(0, memSize)
				require.Equal(t, transport.RuleBadResponse, p.a.recv(response(answer, 100, 0)).Rule)
				p.a.requireSends(cq.StatusBadResponse, cq.StatusFlushed, cq.StatusFlushed)
				require.Equal(t, before, p.a.snapshot(0, memSize))
			})
		}
		if op.Reads() {
			p, _ := outstanding(t, op, 8)
			require.Equal(t, transport.RuleImpliedNAK, p.a.recv(response(bth.RCAcknowledge, 100, 0)).Rule)
			require.Empty(t, p.a.sends)
			require.Equal(t, transport.CauseImpliedNAK, p.a.drain()[0].why)
		}
	}
}

// TestReservedSyndromes proves that of the 256 syndromes those without a meaning fail the
// request as a bad response, in acknowledgements, READ data and atomic answers (R29).
func TestReservedSyndromes(t *testing.T) {
	reserved := 0
	for i := range 256 {
		s := bth.Syndrome(i)
		ack := s.IsACK()
		known := ack || s.IsRNR() || s >= bth.NAKSequence && s <= bth.NAKRemoteOperation
		if !known {
			reserved++
			p, _ := outstanding(t, qp.OpWrite, 8)
			p.a.recv(withSyndrome(response(bth.RCAcknowledge, 100, 0), s))
			p.a.requireSends(cq.StatusBadResponse, cq.StatusFlushed, cq.StatusFlushed)
		}
		if ack {
			continue
		}
		p, _ := outstanding(t, qp.OpRead, 8)
		p.a.recv(withSyndrome(response(bth.RCReadRespOnly, 100, 8), s))
		p.a.requireSends(cq.StatusBadResponse, cq.StatusFlushed, cq.StatusFlushed)
		p, _ = outstanding(t, qp.OpFetchAdd, 8)
		p.a.recv(withSyndrome(response(bth.RCAtomicAck, 100, 0), s))
		p.a.requireSends(cq.StatusBadResponse, cq.StatusFlushed, cq.StatusFlushed)
	}
	require.Equal(t, 256-32-32-4, reserved)
}

// TestLengthOfReadData proves that READ data has the length that its place says (9.9.2): a
// path MTU but for the last packet, which has what is left.
func TestLengthOfReadData(t *testing.T) {
	const n = 3*testMTU + 9
	full := func(op bth.Opcode, psn bth.PSN) *packet { return response(op, psn, testMTU) }
	first, middle := full(bth.RCReadRespFirst, 100), full(bth.RCReadRespMiddle, 101)
	third := full(bth.RCReadRespMiddle, 102)
	for name, script := range map[string][]*packet{
		"First empty":        {response(bth.RCReadRespFirst, 100, 0)},
		"First short":        {response(bth.RCReadRespFirst, 100, testMTU-4)},
		"First long":         {response(bth.RCReadRespFirst, 100, testMTU+4)},
		"Middle at first":    {full(bth.RCReadRespMiddle, 100)},
		"Last at first":      {response(bth.RCReadRespLast, 100, 9)},
		"Only at first":      {full(bth.RCReadRespOnly, 100)},
		"Only, all of it":    {response(bth.RCReadRespOnly, 100, n)},
		"First again":        {first, full(bth.RCReadRespFirst, 101)},
		"Middle short":       {first, response(bth.RCReadRespMiddle, 101, testMTU-1)},
		"Middle empty":       {first, response(bth.RCReadRespMiddle, 101, 0)},
		"Last too early":     {first, response(bth.RCReadRespLast, 101, 9)},
		"Last empty":         {first, middle, third, response(bth.RCReadRespLast, 103, 0)},
		"Last one less":      {first, middle, third, response(bth.RCReadRespLast, 103, 8)},
		"Last one more":      {first, middle, third, response(bth.RCReadRespLast, 103, 10)},
		"Last full":          {first, middle, third, full(bth.RCReadRespLast, 103)},
		"Middle at the last": {first, middle, third, full(bth.RCReadRespMiddle, 103)},
		"Only at the last":   {first, middle, third, response(bth.RCReadRespOnly, 103, 9)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			p.a.post(p.ask(qp.OpRead, 0, n))
			p.a.drain()
			beside := p.a.snapshot(n, 1000)
			for i, pkt := range script {
				v := p.a.recv(pkt)
				require.Equal(t, i == len(script)-1, v.Rule == transport.RuleBadResponse, "%s", v)
			}
			p.a.requireSends(cq.StatusBadResponse)
			require.Equal(t, beside, p.a.snapshot(n, 1000), "nothing behind the buffer")
		})
	}
}
