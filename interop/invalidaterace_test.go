//go:build linux

package interop

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// invalidatedRead is a READ, and behind it a SEND that invalidates the READ's key. If
// nothing is lost requests are executed in order, and both succeed. If an answer is lost
// only the fence makes it so: without it the READ may come again by a key that is gone.
type invalidatedRead struct{ fence, lossy bool }

func (c invalidatedRead) String() string {
	name := "READ and SEND_WITH_INV of its key"
	if c.fence {
		name += ", fenced"
	}
	if c.lossy {
		name += ", an answer lost"
	}
	return name
}

func (c invalidatedRead) run(t *testing.T, b *bench, w way) {
	const n = 4097
	s := patient
	if c.lossy {
		s = resilient
	}
	if w.requests == guest.FromGuest {
		s.retry = 3 // seven is for ever
	}
	p := b.connect(t, s)
	req, resp := w.ends(p)
	resp.fill(t, sourceOff, n, 1)
	at := bound(t, resp, resp.window(t), 0, 2*n, remoteRights)
	resp.postRecv(t, 2, inboxOff, 8)
	switch {
	case c.lossy && c.fence:
		defer b.tap.inflict(p, nth(bth.Response, 2))()
	case c.lossy:
		defer b.tap.strike(lostUntilAcked(w, bth.PSN(firstPSN).Add(1), bth.PSN(firstPSN).Add(uint32(packetsOf(n)))))()
	}
	read := work{id: 1, op: roce.OpRead, off: arrivalOff, n: n, at: target{at.addr + sourceOff, at.key}}
	req.post(t, read)
	req.post(t, work{id: 2, op: roce.OpSendInv, off: sourceOff, n: 8, at: at, fence: c.fence})
	done := req.completions(t, 2)
	if c.lossy && !c.fence {
		require.Equal(t, c.unfenced(w), done[0].status, "status of the READ")
		require.Equal(t, roce.StatusFlushed, done[1].status, "status of the SEND")
		return
	}
	requireRequesterDone(t, done[0], read)
	require.Equal(t, roce.StatusSuccess, done[1].status)
	require.Equal(t, completion{id: 2, opcode: roce.WCRecv, bytes: 8, inv: at.key, hasInv: true}, resp.completions(t, 1)[0])
	requireArrived(t, req, 1, n)
}

// lostUntilAcked loses the responder's packet with a PSN, however often it comes, until
// a later message is acknowledged.
func lostUntilAcked(w way, lost, later bth.PSN) *fault.Rule {
	acked := false
	return fault.Drop(fault.Match{To: sender(w.requests), If: func(p *bth.Packet) bool {
		acked = acked || p.Opcode.Is(bth.Ack) && p.AETH.Syndrome.IsACK() && p.PSN == later
		return p.PSN == lost && !acked
	}})
}

// unfenced is what becomes of the READ that comes again by a key that is gone.
func (c invalidatedRead) unfenced(w way) roce.Status {
	if w.requests == guest.ToGuest {
		return roce.StatusRemoteAccess
	}
	return roce.StatusRetryExceeded // we drop it
}

// invalidatedWrite is a WRITE through a window that its owner invalidates midway: what
// came before stays, and the rest is refused.
type invalidatedWrite struct{}

func (invalidatedWrite) String() string { return "WRITE through a window invalidated midway" }

// run loses the fourth of eight packets, however often it comes, until the window is gone.
func (invalidatedWrite) run(t *testing.T, b *bench, w way) {
	const packets, before = 8, 3
	fourth := bth.PSN(firstPSN).Add(before)
	p := b.connect(t, resilient)
	req, resp := w.ends(p)
	req.fill(t, sourceOff, packets*pathMTU, 1)
	resp.fill(t, inboxOff, inboxSize, background)
	at := bound(t, resp, resp.window(t), arrivalOff, packets*pathMTU, remoteRights)
	mark := b.tap.mark()
	lift := b.tap.strike(fault.Drop(fault.Match{From: sender(w.requests), PSN: &fourth}))
	defer lift()
	req.post(t, work{id: refusedID, op: roce.OpWrite, off: sourceOff, n: packets * pathMTU, at: at})
	b.tap.await(bounded(t), t, mark, func(s *sighting) bool {
		return s.dir != w.requests && s.is(bth.HasAETH) && s.BTH.AETH.Syndrome == bth.NAKSequence
	})
	invalidate(t, resp, at)
	lift()
	requireFailures(t, req, completion{id: refusedID, status: roce.StatusRemoteAccess})
	require.Equal(t, roce.StateErr, resp.state(t))
	requireNAKs(t, b.tap.since(mark), w, fourth, bth.NAKSequence, bth.NAKRemoteAccess)
	require.Equal(t, withMessage(guest.Pattern(1, before*pathMTU)), resp.sum(t, inboxOff, inboxSize))
}

// behindWrite is a local invalidate behind a WRITE of the same queue pair, which loses a
// packet. It waits for the WRITE, and needs no fence for that.
type behindWrite struct{}

func (behindWrite) String() string {
	return fmt.Sprintf("%s behind a WRITE under way", roce.OpLocalInv)
}

func (behindWrite) run(t *testing.T, b *bench, w way) {
	const n = 4097
	p := b.connect(t, resilient)
	req, resp := w.ends(p)
	at := bound(t, req, req.window(t), wordOff, 64, remoteRights)
	write(t, resp, at)
	req.fill(t, sourceOff, n, 1)
	defer b.tap.inflict(p, nth(bth.Request, 2))()
	wr := work{id: 1, op: roce.OpWrite, off: sourceOff, n: n, at: resp.remote(arrivalOff)}
	req.post(t, wr)
	req.post(t, work{id: 2, op: roce.OpLocalInv, at: at})
	done := req.completions(t, 2)
	requireRequesterDone(t, done[0], wr)
	require.Equal(t, completion{id: 2, opcode: roce.WCLocalInv}, done[1])
	requireArrived(t, resp, 1, n)
	resp.post(t, work{id: refusedID, op: roce.OpWrite, off: sourceOff, n: 8, at: at})
	requireFailures(t, resp, completion{id: refusedID, status: roce.StatusRemoteAccess})
}
