package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestStates proves which packets each state takes: requests from RTR on, responses
// from RTS on, and neither in ERR.
func TestStates(t *testing.T) {
	o := defaults()
	h := newHost(t, "A", 0x11, new(clock.Time))
	takes := func(requests, responses bool) {
		t.Helper()
		require.Equal(t, requests, h.recv(request(bth.RCWriteOnly, 500, 0)).Rule != transport.RuleState, "requests in %s", h.m.State())
		require.Equal(t, responses, h.recv(response(bth.RCAcknowledge, 100, 0)).Rule != transport.RuleState, "responses in %s", h.m.State())
	}
	takes(false, false)
	h.toInit(o)
	takes(false, false)
	h.toRTR(0x22, 500, o)
	takes(true, false)
	h.toRTS(100, o)
	takes(true, true)
	h.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	takes(false, false)
}

// TestReset proves C13 and R22: RESET drops work without completions, and after it
// the queue pair works with new PSNs while strays of the old connection are dropped.
func TestReset(t *testing.T) {
	p := newPair(t, defaults())
	p.a.postRecv(1, 0, 10)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	stray := p.a.next()
	for _, h := range []*host{p.a, p.b} {
		h.modify(qp.Attr{State: qp.StateReset}, qp.MaskState)
	}
	require.Empty(t, p.a.sends)
	require.Empty(t, p.a.recvs)
	require.Error(t, p.a.sq.Post(&qp.SendWR{Op: qp.OpSend}, p.a), "RESET takes no sends")
	require.Equal(t, transport.RuleState, p.b.recv(stray).Rule)
	p.a.connect(0x22, 9000, 7000, defaults())
	p.b.connect(0x11, 7000, 9000, defaults())
	require.NotEqual(t, transport.Executed, p.b.recv(stray).Action)
	p.b.drain()
	p.b.postRecv(1, 0, 10)
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 10)})
	p.settle()
	p.a.requireSends(ok(1)...)
	p.b.requireRecvs(ok(1)...)
}
