package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestRNROverLostAnswer proves R07 where an RNR NAK passes over a READ whose answer is lost: the
// wait is not shortened by that either; both are sent again when it is over.
func TestRNROverLostAnswer(t *testing.T) {
	p := newPair(t, defaults())
	want := p.b.fill(0, 100, 1)
	p.a.post(p.ask(qp.OpRead, 0, 100))
	p.a.post(p.ask(qp.OpSend, 200, 8))
	answers := p.b.say(p.a.drain()...)
	require.Equal(t, transport.RuleRNR, p.a.recv(answers[1]).Rule)
	require.Empty(t, p.a.drain())
	require.Equal(t, p.now.Add(bth.RNRDelay(14)), p.a.m.Deadline())
	p.b.postRecv(1, 300, 8)
	p.advance(p.a)
	again := p.a.drain()
	require.Equal(t, []bth.PSN{100, 101}, psnsOf(again))
	p.a.hear(p.b.say(again...)...)
	p.settle()
	p.a.requireSends(ok(2)...)
	require.Equal(t, want, p.a.snapshot(0, 100))
}
