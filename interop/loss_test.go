//go:build linux

package interop

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/interop/guest"
	"github.com/rocinante-rdma/roce/transport"
)

// resilient settings are for connections that lose packets: timeouts are short, and
// there are enough of them.
var resilient = settings{timeout: 15, retry: 7, rnrRetry: 7}

// lossy is a series of operations under a fault.
type lossy struct {
	name   string
	ops    []roce.Op
	n      int  // bytes of each
	inTurn bool // each is posted after the one before it has completed
	trouble
}

func (c lossy) String() string { return fmt.Sprintf("%s, %s", c.name, c.trouble) }

// repeated is a series of one operation.
func repeated(op roce.Op, n, times int, inTurn bool, tr trouble) lossy {
	name := fmt.Sprintf("%d %s of %d bytes", times, op, n)
	return lossy{name, slices.Repeat([]roce.Op{op}, times), n, inTurn, tr}
}

// losses are all that is tried, the same in each direction.
func losses(w way) (all []cell) {
	for _, op := range []roce.Op{roce.OpSend, roce.OpWrite, roce.OpWriteImm} {
		for _, n := range []int{1, 3, 5, 15} {
			all = append(all, repeated(op, 4097, 3, false, nth(bth.Request, n)))
		}
		for _, n := range []int{1, 2, 3} { // one acknowledgement for each message, since they come in turn
			all = append(all, repeated(op, 4097, 3, true, nth(bth.Response, n)))
		}
	}
	for _, n := range []int{1, 2, 3} {
		all = append(all, repeated(roce.OpRead, 4097, 3, false, nth(bth.Request, n)))
	}
	for _, n := range []int{1, 3, 5, 15} {
		all = append(all, repeated(roce.OpRead, 4097, 3, false, nth(bth.Response, n)))
	}
	for _, op := range []roce.Op{roce.OpFetchAdd, roce.OpCompareSwap} {
		for _, n := range []int{1, 2, rdAtomic} {
			all = append(all,
				repeated(op, 8, rdAtomic, false, nth(bth.Request, n)),
				repeated(op, 8, rdAtomic, false, nth(bth.Response, n)))
		}
		all = append(all,
			repeated(op, 8, 20, true, often()),
			repeated(op, 8, rdAtomic, false, doubled(bth.Request)),
			repeated(op, 8, rdAtomic, false, doubled(bth.Response)))
	}
	for _, op := range []roce.Op{roce.OpSend, roce.OpWrite, roce.OpRead} {
		all = append(all,
			repeated(op, maxMessage, 1, false, often()),
			repeated(op, 4097, 3, false, doubled(bth.Request)),
			repeated(op, 4097, 3, false, doubled(bth.Response)))
	}
	return slices.Concat(all, mixedLosses(), disturbances(w))
}

// disturbances are the faults beside loss: of one packet of each kind of operation, and of
// some of a series of all operations.
func disturbances(w way) (all []cell) {
	for _, do := range []func(fault.Match) *fault.Rule{reordered, delayed, corrupted} {
		for _, of := range []bth.Flags{bth.Request, bth.Response} {
			second := trouble{do, fault.Match{Has: of, Nth: 2}}
			for _, op := range []roce.Op{roce.OpSend, roce.OpWrite, roce.OpRead} {
				inTurn := of == bth.Response && op != roce.OpRead // one acknowledgement for each
				all = append(all, repeated(op, 4097, 3, inTurn, second))
			}
			for _, op := range []roce.Op{roce.OpFetchAdd, roce.OpCompareSwap} {
				all = append(all, repeated(op, 8, rdAtomic, false, second))
			}
		}
	}
	for _, do := range []func(fault.Match) *fault.Rule{reordered, delayed} {
		some := mixed
		some.trouble = trouble{do, fault.Match{Has: orderFree(w), P: 0.2, Seed: 1}}
		all = append(all, some)
	}
	some := mixed
	some.trouble = trouble{corrupted, fault.Match{P: 0.2, Seed: 1}}
	return append(all, some)
}

// orderFree are the packets of a series of all operations that may come in any order: all,
// but for responses to the kernel. If one of READ data and one of an acknowledgement of
// what was before the READ change places there, Linux 7.3 takes the acknowledgement for
// the end of the READ's packets (check_psn and check_ack in rxe_comp.c), refuses the next
// of them, and goes to ERR with a completion that says that the READ succeeded.
func orderFree(w way) bth.Flags {
	if w.requests == guest.FromGuest {
		return bth.Request
	}
	return 0
}

// mixed is a series of all operations.
var mixed = lossy{name: "all operations", n: 4097, ops: []roce.Op{
	roce.OpSend, roce.OpRead, roce.OpWrite, roce.OpFetchAdd, roce.OpSendImm, roce.OpRead, roce.OpCompareSwap, roce.OpWriteImm,
}}

// mixedLosses lose each single packet of a series of all operations.
func mixedLosses() (all []cell) {
	mixed := mixed
	for n := range mixed.packets() {
		mixed.trouble = nth(bth.Request, 1+n)
		all = append(all, mixed)
	}
	const responses = 5 + 1 + 5 + 1 // to READs and atomics; acknowledgements may be spared
	for n := range responses {
		mixed.trouble = nth(bth.Response, 1+n)
		all = append(all, mixed)
	}
	return all
}

// run does the operations under the fault: all must succeed, once each and in order,
// and both ends' memory must hold what it must.
func (c lossy) run(t *testing.T, b *bench, w way) {
	p := b.connect(t, resilient)
	req, resp := w.ends(p)
	mark, icrcs := b.tap.mark(), b.badICRCs()
	lift := b.tap.inflict(p, c.trouble)
	defer lift()
	s := newSeries(t, c.ops, c.n, req, resp)
	done := c.post(t, req, s.works)
	for i, wr := range s.works {
		requireRequesterDone(t, done[i], wr)
	}
	s.requireReceived(t, resp)
	s.requireMemory(t, req, resp)
	require.Equal(t, roce.StateRTS, req.state(t))
	require.Equal(t, roce.StateRTS, resp.state(t))
	struck := lift()
	c.requireStruck(t, struck, b.tap.since(mark), w)
	found := b.badICRCs() - icrcs
	require.Equal(t, count(struck, func(s *sighting) bool { return s.spoilt() && s.dir == guest.FromGuest }), found, "bad ICRCs")
}

// badICRCs is how many packets our device has dropped for their ICRC.
func (b *bench) badICRCs() int {
	for _, c := range b.dev.Stats() {
		if c.Name == "received: "+transport.RuleICRC.String() {
			return int(c.Value)
		}
	}
	return 0
}

// post posts the work and returns its completions.
func (c lossy) post(t *testing.T, req end, works []work) (done []completion) {
	t.Helper()
	for _, wr := range works {
		req.post(t, wr)
		if c.inTurn {
			done = append(done, req.completions(t, 1)...)
		}
	}
	if c.inTurn {
		return done
	}
	return req.completions(t, len(works))
}

// requireStruck fails the test unless the fault struck, and packets were sent again
// where that was needed: an acknowledgement is missed only if no later answer follows.
func (c lossy) requireStruck(t *testing.T, struck, seen []*sighting, w way) {
	t.Helper()
	require.NotEmpty(t, struck, "%v struck no packet", c.trouble)
	if s := struck[0]; (s.copies() == 0 || s.spoilt()) && (c.inTurn || !s.is(bth.Ack)) {
		requests := count(seen, func(s *sighting) bool { return s.dir == w.requests && s.is(bth.Request) })
		require.Greater(t, requests, c.packets(), "requests on the wire, some of them again")
	}
}

// packets is the number of request packets when nothing is lost.
func (c lossy) packets() (n int) {
	for _, op := range c.ops {
		if op == roce.OpRead || isAtomic(op) {
			n++
		} else {
			n += (c.n + pathMTU - 1) / pathMTU
		}
	}
	return n
}
