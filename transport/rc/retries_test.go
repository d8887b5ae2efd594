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

// TestRetriesReload proves 9.7.6.1.3: the retry count is per stretch without progress, and
// every kind of progress counts, also inside a message. What is sent meets as many
// timeouts as are allowed, then one answer, and so on.
func TestRetriesReload(t *testing.T) {
	const allowed = 2
	o := defaults()
	o.retry = allowed
	for name, c := range map[string]struct {
		wr     func(*pair) qp.SendWR
		answer []*packet // one at a time
	}{
		"WRITE": {
			func(p *pair) qp.SendWR { return p.ask(qp.OpWrite, 0, 3*testMTU) },
			[]*packet{response(bth.RCAcknowledge, 100, 0), response(bth.RCAcknowledge, 101, 0), response(bth.RCAcknowledge, 102, 0)},
		},
		"WRITE and RNR NAKs": {
			func(p *pair) qp.SendWR { return p.ask(qp.OpWrite, 0, 3*testMTU) },
			[]*packet{
				withSyndrome(response(bth.RCAcknowledge, 101, 0), bth.RNRNAK(1)),
				withSyndrome(response(bth.RCAcknowledge, 102, 0), bth.RNRNAK(1)), response(bth.RCAcknowledge, 102, 0),
			},
		},
		"READ": {
			func(p *pair) qp.SendWR { return p.ask(qp.OpRead, 0, 3*testMTU) },
			[]*packet{
				response(bth.RCReadRespFirst, 100, testMTU), response(bth.RCReadRespFirst, 101, testMTU),
				response(bth.RCReadRespOnly, 102, testMTU),
			},
		},
		"atomic": {
			func(p *pair) qp.SendWR { return p.ask(qp.OpFetchAdd, 0, 8) },
			[]*packet{response(bth.RCAtomicAck, 100, 0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, o)
			p.a.post(c.wr(p))
			timeouts := uint64(0)
			for _, answer := range c.answer {
				for range allowed {
					p.a.drain()
					for p.a.m.Stats().Timeouts == timeouts { // the first deadline may be an RNR wait
						p.advance(p.a)
						p.a.drain()
					}
					timeouts++
				}
				require.Equal(t, transport.Advanced, p.a.recv(answer).Action)
			}
			p.a.requireSends(ok(1)...)
			require.Equal(t, qp.StateRTS, p.a.m.State())
		})
	}
}

// TestRetriesOfEveryKindCount proves that timeouts, sequence NAKs and implied NAKs use up one
// count, that the work fails when it is gone, and that the rest is flushed (9.7.6.1.3).
func TestRetriesOfEveryKindCount(t *testing.T) {
	o := defaults()
	o.retry = 1
	for name, spend := range map[string]func(p *pair){
		"timeout":      func(p *pair) { p.advance(p.a) },
		"sequence NAK": func(p *pair) { p.a.recv(withSyndrome(response(bth.RCAcknowledge, 100, 0), bth.NAKSequence)) },
		"implied NAK":  func(p *pair) { p.a.recv(response(bth.RCAcknowledge, 101, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, o)
			p.a.post(p.ask(qp.OpRead, 0, 10))
			p.a.post(p.ask(qp.OpWrite, 0, 10))
			p.a.drain()
			spend(p)
			require.Equal(t, qp.StateRTS, p.a.m.State())
			require.NotEmpty(t, p.a.drain(), "one retry")
			p.advance(p.a)
			p.a.requireSends(cq.StatusRetryExceeded, cq.StatusFlushed)
		})
	}
}

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
