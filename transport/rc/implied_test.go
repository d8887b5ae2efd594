package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestAnswerOverLostAnswer proves 9.7.5.1.2, and R02 for its whole kind: whatever later
// request is answered, a READ or atomic before it whose answer is lost, wholly or from
// some packet on, is asked for again at the first missing PSN, at once. It is executed
// once, and everything completes in order.
func TestAnswerOverLostAnswer(t *testing.T) {
	for _, older := range []struct {
		op      qp.Op
		n, lost int // lost is the first packet of the answer that is
	}{
		{qp.OpRead, 100, 0}, {qp.OpRead, 3 * testMTU, 0}, {qp.OpRead, 3 * testMTU, 1}, {qp.OpRead, 3 * testMTU, 2},
		{qp.OpFetchAdd, 8, 0}, {qp.OpCompareSwap, 8, 0},
	} {
		for _, later := range wireOps {
			t.Run(fmt.Sprintf("%s over %s of %d from %d", later, older.op, older.n, older.lost), func(t *testing.T) {
				p := newPair(t, defaults())
				want := p.b.fill(10000, older.n, 1)
				p.b.postRecv(1, 500000, 100)
				p.a.post(p.ask(qp.OpWrite, 20000, 100))
				p.a.post(p.ask(older.op, 10000, older.n))
				p.a.post(p.ask(later, 30000, 100))
				was := p.b.word(10000)
				answers := p.b.say(p.a.drain()...)
				from := bth.PSN(101 + older.lost)
				behind := answers[len(answers)-1].PSN
				for _, pkt := range answers {
					if pkt.PSN.Before(from) || pkt.PSN == behind {
						p.a.recv(pkt)
					}
				}
				p.a.requireSends(ok(1)...)
				again := p.a.drain()
				require.Equal(t, from, again[0].PSN)
				require.Equal(t, transport.CauseImpliedNAK, again[0].why)
				p.a.hear(p.b.say(again...)...)
				p.settle()
				p.a.requireSends(ok(3)...)
				require.Zero(t, p.a.m.Stats().Timeouts)
				require.Equal(t, want, p.a.snapshot(10000, older.n))
				if older.op == qp.OpFetchAdd {
					require.Equal(t, was+1, p.b.word(10000))
				}
				if later == qp.OpFetchAdd {
					require.EqualValues(t, 1, p.b.word(30000))
				}
			})
		}
	}
}

// TestFatalNAKOverLostAnswer proves that a fatal NAK behind a READ whose answer is lost
// ends the READ too: the peer will not answer it any more.
func TestFatalNAKOverLostAnswer(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpRead, 0, 100))
	bad := p.ask(qp.OpWrite, 0, 100)
	bad.RKey ^= 1
	p.a.post(bad)
	answers := p.b.say(p.a.drain()...)
	require.Len(t, answers, 2)
	p.a.recv(answers[1])
	require.Len(t, p.a.sends, 2)
	require.Error(t, p.a.sends[0].Err(), "its data never came")
	require.Error(t, p.a.sends[1].Err())
	require.Empty(t, p.a.drain())
}
