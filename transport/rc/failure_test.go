package rc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// TestFirstCauseIsKept proves that a queue pair tells why it failed first, whatever comes
// after: answers, other failures, ERR by hand. Only RESET forgets it.
func TestFirstCauseIsKept(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpWrite, 0, 10))
	p.a.drain()
	nak := func(s bth.Syndrome) *packet { return withSyndrome(response(bth.RCAcknowledge, 100, 0), s) }
	p.a.recv(nak(bth.NAKRemoteAccess))
	first, failed := p.a.m.Failure()
	require.True(t, failed)
	require.Equal(t, transport.RuleRemoteAccess, first.Rule)
	require.Equal(t, transport.RuleState, p.a.recv(nak(bth.NAKInvalidRequest)).Rule)
	require.Equal(t, transport.RuleState, p.a.recv(request(0x1f, 500, 0)).Rule)
	p.a.m.Abandon(transport.RuleCQOverflow)
	p.a.modify(qp.Attr{State: qp.StateErr}, qp.MaskState)
	p.a.m.Advance(clock.Time(time.Hour))
	kept, _ := p.a.m.Failure()
	require.Equal(t, first, kept)
	p.a.requireSends(cq.StatusRemoteAccess)
	p.a.modify(qp.Attr{State: qp.StateReset}, qp.MaskState)
	_, failed = p.a.m.Failure()
	require.False(t, failed)
}

// TestFirstCauseOfBothHalves proves the same where the peer's bad request comes first and
// our own work would have failed next.
func TestFirstCauseOfBothHalves(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpWrite, 0, 10))
	p.a.drain()
	require.Equal(t, transport.RuleReserved, p.a.recv(request(0x1f, 500, 0)).Rule)
	p.a.requireSends(cq.StatusFlushed)
	p.a.recv(withSyndrome(response(bth.RCAcknowledge, 100, 0), bth.NAKRemoteAccess))
	f, _ := p.a.m.Failure()
	require.Equal(t, transport.RuleReserved, f.Rule)
	require.Len(t, p.a.drain(), 1, "the NAK for it")
}

// TestFirstCauseBehindAnAnswer proves the same where a bad request waits to be refused behind a
// READ that cannot be answered after all: the NAK is for the READ, the cause is the first.
func TestFirstCauseBehindAnAnswer(t *testing.T) {
	p := newPair(t, defaults())
	p.b.recv(readOf(p.b, 100))
	require.Equal(t, transport.RuleReserved, p.b.recv(request(0x1f, 101, 0)).Rule)
	p.b.table.Deregister(p.b.mem)
	naks := p.b.drain()
	require.Len(t, naks, 1)
	require.Equal(t, bth.NAKRemoteAccess, naks[0].AETH.Syndrome)
	require.Equal(t, bth.PSN(100), naks[0].PSN)
	f, _ := p.b.m.Failure()
	require.Equal(t, transport.RuleReserved, f.Rule)
}
