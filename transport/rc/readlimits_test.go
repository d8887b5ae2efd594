package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestReadResources proves R21: a connection may be set up for no READs at all, and lives as
// long as nobody asks for one; READs and atomics share what there is; how many there are
// does not change in RTS.
func TestReadResources(t *testing.T) {
	o := defaults()
	o.response, o.initiator = 0, 0
	p := newPair(t, o)
	p.b.postRecv(1, 0, 8)
	p.a.post(p.ask(qp.OpWrite, 0, 8))
	p.a.post(p.ask(qp.OpSend, 0, 8))
	p.settle()
	p.a.requireSends(ok(2)...)
	for _, r := range []*packet{readOf(p.b, 102), addTo(p.b, 102)} {
		p = newPair(t, o)
		r.PSN = 100
		require.Equal(t, transport.RuleTooManyReads, p.b.recv(r).Rule)
		require.Equal(t, bth.NAKInvalidRequest, p.b.drain()[0].AETH.Syndrome)
	}
	for _, op := range []qp.Op{qp.OpRead, qp.OpFetchAdd, qp.OpCompareSwap} {
		p = newPair(t, o)
		p.a.post(p.ask(op, 0, 8))
		require.Empty(t, p.a.drain())
		p.a.requireSends(cq.StatusLocalQPOperation)
	}

	o.response = 4
	p = newPair(t, o)
	for i := range 5 {
		r := readOf(p.b, bth.PSN(100+i))
		if i%2 == 1 {
			r = addTo(p.b, bth.PSN(100+i))
		}
		require.Equal(t, i < 4, p.b.recv(r).Action == transport.Executed)
	}
	require.Len(t, p.b.drain(), 5, "four answers, then the NAK")

	p = newPair(t, o)
	var attr *qp.AttrError
	require.ErrorAs(t, p.b.m.Modify(p.now, &qp.Attr{MaxDestRdAtomic: 8}, qp.MaskMaxDestRdAtomic), &attr)
	require.Equal(t, qp.MaskMaxDestRdAtomic.String(), attr.Attr)
}

// TestReadLimitMovesOn proves 9.7.3.1: READs and atomics share the limit, the next one goes when
// the oldest has its last answer, not before, and what is posted behind them waits in order.
func TestReadLimitMovesOn(t *testing.T) {
	o := defaults()
	o.initiator = 2
	p := newPair(t, o)
	for _, op := range []qp.Op{qp.OpRead, qp.OpFetchAdd, qp.OpRead, qp.OpCompareSwap, qp.OpWrite} {
		p.a.post(p.ask(op, 0, 2*testMTU))
	}
	sent := p.a.drain()
	require.Equal(t, []bth.PSN{100, 102}, psnsOf(sent))
	answers := p.b.say(sent...)
	p.a.recv(answers[0])
	require.Empty(t, p.a.drain(), "the READ's last packet is missing")
	p.a.recv(answers[1])
	require.Equal(t, []bth.PSN{103}, psnsOf(p.a.drain()))
	require.Equal(t, transport.BlockedReadLimit, p.a.m.Why())
	p.a.recv(answers[2])
	require.Equal(t, []bth.PSN{105, 106, 107}, psnsOf(p.a.drain()), "the WRITE behind it too")
	p.settle()
	p.a.requireSends(ok(5)...)
}
