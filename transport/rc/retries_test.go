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

// TestAckTimeoutCodes proves M05: the timeout is 4.096 µs × 2^code for every code, and no
// timeout at all for 0.
func TestAckTimeoutCodes(t *testing.T) {
	for code := range uint8(32) {
		o := defaults()
		o.timeout = code
		p := newPair(t, o)
		p.a.post(p.ask(qp.OpWrite, 0, 8))
		p.a.drain()
		want := clock.Never
		if code > 0 {
			want = clock.Time(4096 * time.Nanosecond << code)
		}
		require.Equal(t, want, p.a.m.Deadline(), "code %d", code)
	}
}
