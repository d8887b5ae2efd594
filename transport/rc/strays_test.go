package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestStraysOfAnOldConnection proves R22 for its whole kind: requests and answers of every form that
// belong to the connection before do nothing to the next one with the same numbers of
// queue pairs and other PSNs.
func TestStraysOfAnOldConnection(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 8)
	for _, op := range wireOps {
		p.a.post(p.ask(op, 0, 8))
	}
	requests := p.a.drain()
	answers := p.b.say(requests...)
	for _, h := range []*host{p.a, p.b} {
		h.modify(qp.Attr{State: qp.StateReset}, qp.MaskState)
		h.sends, h.recvs = nil, nil
	}
	p.a.connect(0x22, 0x801000, 0x802000, defaults()) // the old PSNs are far ahead of these
	p.b.connect(0x11, 0x802000, 0x801000, defaults())
	p.b.fill(0, 8, 1)
	before := p.b.snapshot(0, 8)
	p.b.postRecv(1, 0, 8)
	p.a.post(p.ask(qp.OpRead, 0, 8))
	read := p.a.drain()
	for _, stray := range requests {
		v := p.b.recv(stray)
		require.NotEqual(t, transport.Executed, v.Action, "%s: %s", stray, v)
	}
	for _, stray := range append(answers, p.b.drain()...) {
		p.a.recv(stray)
		require.Empty(t, p.a.sends, "%s", stray)
	}
	require.Equal(t, before, p.b.snapshot(0, 8))
	require.Empty(t, p.b.recvs)
	p.a.hear(p.b.say(read...)...)
	p.settle()
	p.a.requireSends(ok(1)...)
	require.Equal(t, before, p.a.snapshot(0, 8))
	require.Equal(t, qp.StateRTS, p.b.m.State())
}
