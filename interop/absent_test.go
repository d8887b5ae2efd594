//go:build linux

package interop

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// rnrTimer is the code of the delay that either end's RNR NAKs ask for.
const rnrTimer = roce.DefaultMinRNRTimer

// lateRecv is a message that arrives before the receive for it is posted.
type lateRecv struct {
	op roce.Op
	n  int
}

func (c lateRecv) String() string {
	return fmt.Sprintf("%s of %d bytes, receive posted late", c.op, c.n)
}

func (c lateRecv) run(t *testing.T, b *bench, w way) {
	p := b.connect(t, patient)
	req, resp := w.ends(p)
	mark := b.tap.mark()
	req.fill(t, sourceOff, c.n, 1)
	resp.fill(t, inboxOff, inboxSize, background)
	wr := work{id: 1, op: c.op, off: sourceOff, n: c.n, imm: 7, at: resp.remote(arrivalOff)}
	req.post(t, wr)
	b.tap.await(bounded(t), t, mark, func(s *sighting) bool { return s.isRNR(w) })
	resp.postRecv(t, 1, arrivalOff, c.n)
	requireRequesterDone(t, req.completions(t, 1)[0], wr)
	requireReceived(t, resp.completions(t, 1)[0], wr)
	require.Equal(t, withMessage(guest.Pattern(1, c.n)), resp.sum(t, inboxOff, inboxSize))
	require.Equal(t, roce.StateRTS, req.state(t))
	require.Equal(t, roce.StateRTS, resp.state(t))
}

// isRNR reports whether the packet is an RNR NAK of the responder, with its delay.
func (s *sighting) isRNR(w way) bool {
	return s.dir != w.requests && s.is(bth.HasAETH) && s.BTH.AETH.Syndrome == bth.RNRNAK(rnrTimer)
}

// noRecv is a message for which no receive is ever posted.
type noRecv struct{ op roce.Op }

func (c noRecv) String() string { return fmt.Sprintf("%s, no receive posted", c.op) }

func (c noRecv) run(t *testing.T, b *bench, w way) {
	s := patient
	s.rnrRetry = 2
	p := b.connect(t, s)
	req, resp := w.ends(p)
	mark := b.tap.mark()
	req.post(t, work{id: refusedID, op: c.op, off: sourceOff, n: 100, at: resp.remote(arrivalOff)})
	requireFailures(t, req, completion{id: refusedID, status: roce.StatusRNRRetryExceeded})
	r := bth.RNRNAK(rnrTimer)
	requireNAKs(t, b.tap.since(mark), w, firstPSN, r, r, r)
	require.Equal(t, roce.StateRTS, resp.state(t), "the responder knows nothing of it")
}

// impatient settings are for connections that shall fail.
var impatient = settings{timeout: 14, retry: 3, rnrRetry: 0}

// gone is a request to a queue pair that is no more.
type gone struct{ op roce.Op }

func (c gone) String() string { return fmt.Sprintf("%s to a destroyed queue pair", c.op) }

func (c gone) run(t *testing.T, b *bench, w way) {
	p := b.connect(t, impatient)
	req, resp := w.ends(p)
	resp.destroy(t)
	mark := b.tap.mark()
	req.post(t, work{id: refusedID, op: c.op, off: sourceOff, n: 8, at: resp.remote(wordOff)})
	req.post(t, work{id: laterID, op: c.op, off: sourceOff, n: 8, at: resp.remote(wordOff)})
	requireFailures(t, req, completion{id: refusedID, status: roce.StatusRetryExceeded}, completion{id: laterID, status: roce.StatusFlushed})
	seen := b.tap.since(mark)
	require.Equal(t, 1+impatient.retry, count(seen, func(s *sighting) bool { return s.is(bth.Request) && s.BTH.PSN == firstPSN }), "transmissions of the request")
	require.Zero(t, count(seen, func(s *sighting) bool { return s.dir != w.requests }), "answers")
}

// silent is a request whose answers are all lost: it is executed once, and fails.
type silent struct{ op roce.Op }

func (c silent) String() string { return fmt.Sprintf("%s whose answers are lost", c.op) }

func (c silent) run(t *testing.T, b *bench, w way) {
	p := b.connect(t, impatient)
	req, resp := w.ends(p)
	defer b.tap.inflict(p, allLost(bth.Response))()
	mark := b.tap.mark()
	resp.fill(t, wordOff, 8, background)
	resp.fill(t, inboxOff, inboxSize, background)
	req.fill(t, sourceOff, 8, 1)
	wr := work{id: refusedID, op: c.op, off: sourceOff, n: 8, at: resp.remote(wordOff), add: 1}
	if c.op == roce.OpSend {
		resp.postRecv(t, refusedID, arrivalOff, 8)
		resp.postRecv(t, laterID, arrivalOff+8, 8) // a second copy would show in the inbox
	}
	req.post(t, wr)
	requireFailures(t, req, completion{id: refusedID, status: roce.StatusRetryExceeded})
	transmissions := count(b.tap.since(mark), func(s *sighting) bool { return s.is(bth.Request) })
	require.Equal(t, 1+impatient.retry, transmissions, "transmissions of the request")
	require.Equal(t, roce.StateRTS, resp.state(t), "the responder knows nothing of it")
	if c.op == roce.OpSend {
		requireReceived(t, resp.completions(t, 1)[0], wr)
		require.Equal(t, withMessage(guest.Pattern(1, 8)), resp.sum(t, inboxOff, inboxSize))
		return
	}
	once := nativeBytes(nativeWord(guest.Pattern(background, 8)) + wr.add)
	require.Equal(t, sha256.Sum256(once), resp.sum(t, wordOff, 8), "the word, after one addition")
}
