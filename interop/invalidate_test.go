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

// invalidations are all that is tried with invalidating in one direction. The kernel is
// never asked to invalidate a window that is not bound, for which it is not prepared.
func invalidations(w way) (all []cell) {
	for _, n := range []int{0, 1, pathMTU, 4097} {
		all = append(all, sendInv{n: n})
	}
	for _, n := range []int{1, 4097} {
		all = append(all, sendInv{n, nth(bth.Request, packetsOf(n))}, sendInv{n, nth(bth.Response, 1)})
	}
	all = append(all, badInvalidate{"an unknown key", unknownKey}, badInvalidate{"a region's key", regionKey})
	if w.requests == guest.FromGuest {
		all = append(all, badInvalidate{"a window that is not bound", unboundKey})
	} else {
		all = append(all, kernelFlag{})
	}
	return append(all, foreignInvalidate{},
		invalidatedRead{}, invalidatedRead{fence: true, lossy: true}, invalidatedRead{lossy: true},
		invalidatedWrite{}, behindWrite{},
	)
}

// packetsOf is the number of packets of a message.
func packetsOf(n int) int { return max(1, (n+pathMTU-1)/pathMTU) }

// sendInv is a SEND with invalidate, with a packet of it lost or none.
type sendInv struct {
	n int
	trouble
}

func (c sendInv) String() string {
	name := fmt.Sprintf("%s of %d bytes", roce.OpSendInv, c.n)
	if c.do != nil {
		name += ", " + c.trouble.String()
	}
	return name
}

// run has the requester write through a window and invalidate it; the window can be
// bound anew, and the key that was invalidated is refused.
func (c sendInv) run(t *testing.T, b *bench, w way) {
	s := patient
	if c.do != nil {
		s = resilient
	}
	p := b.connect(t, s)
	req, resp := w.ends(p)
	window := resp.window(t)
	at := bound(t, resp, window, wordOff, 64, remoteRights)
	write(t, req, at)
	req.fill(t, sourceOff, c.n, 1)
	resp.fill(t, inboxOff, inboxSize, background)
	resp.postRecv(t, 1, arrivalOff, c.n)
	mark := b.tap.mark()
	if c.do != nil {
		defer func(lift func() []*sighting) { require.Len(t, lift(), 1, "packets lost") }(b.tap.inflict(p, c.trouble))
	}
	req.post(t, work{id: 1, op: roce.OpSendInv, off: sourceOff, n: c.n, at: at})
	sent := req.completions(t, 1)[0]
	require.Equal(t, completion{id: 1, opcode: roce.WCSend, bytes: sent.bytes}, sent, "the requester's completion")
	require.Equal(t, completion{id: 1, opcode: roce.WCRecv, bytes: c.n, inv: at.key, hasInv: true}, resp.completions(t, 1)[0], "the responder's completion")
	require.Equal(t, withMessage(guest.Pattern(1, c.n)), resp.sum(t, inboxOff, inboxSize))
	requireInvalidates(t, b.tap.since(mark), c.n, at.key)

	again := bound(t, resp, window, wordOff, 64, remoteRights)
	require.NotEqual(t, at.key, again.key)
	write(t, req, again)
	req.post(t, work{id: refusedID, op: roce.OpWrite, off: sourceOff, n: 8, at: at})
	requireFailures(t, req, completion{id: refusedID, status: roce.StatusRemoteAccess})
}

// requireInvalidates fails the test unless the last packet of the SEND, however often it
// was sent, was the right one and named the key.
func requireInvalidates(t *testing.T, seen []*sighting, n int, key uint32) {
	t.Helper()
	want, last := bth.RCSendOnlyInv, 0
	if packetsOf(n) > 1 {
		want = bth.RCSendLastInv
	}
	for _, s := range seen {
		if s.is(bth.HasIETH) {
			last++
			require.Equal(t, want, s.BTH.Opcode)
			require.Equal(t, key, s.BTH.IETH)
		}
	}
	require.NotZero(t, last, "packets that invalidate")
}

// write writes eight bytes.
func write(t *testing.T, req end, at target) {
	t.Helper()
	wr := work{id: 9, op: roce.OpWrite, off: sourceOff, n: 8, at: at}
	req.post(t, wr)
	requireRequesterDone(t, req.completions(t, 1)[0], wr)
}

// badInvalidate is a SEND with invalidate of a key that it cannot invalidate.
type badInvalidate struct {
	name string
	key  func(t *testing.T, resp end) target
}

func (c badInvalidate) String() string { return "SEND_WITH_INV of " + c.name }

func unknownKey(_ *testing.T, resp end) target {
	at := resp.remote(0)
	return target{at.addr, at.key ^ 0xff}
}

func regionKey(_ *testing.T, resp end) target { return resp.remote(0) }

func unboundKey(t *testing.T, resp end) target {
	at := bound(t, resp, resp.window(t), wordOff, 64, remoteRights)
	invalidate(t, resp, at)
	return at
}

// run has the key refused: the receive ends with an error, and the responder is in ERR. We
// say so by a NAK. The kernel acknowledges the message, which then looks to the requester
// as if all were well.
func (c badInvalidate) run(t *testing.T, b *bench, w way) {
	req, resp := w.ends(b.connect(t, patient))
	mark := b.tap.mark()
	at := c.key(t, resp)
	resp.postRecv(t, recvID, arrivalOff, 8)
	resp.postRecv(t, laterID, arrivalOff, 8)
	req.post(t, work{id: refusedID, op: roce.OpSendInv, off: sourceOff, n: 8, at: at})
	requireFailures(t, resp, completion{id: recvID, status: roce.StatusRemoteInvalid}, completion{id: laterID, status: roce.StatusFlushed})
	if w.requests == guest.FromGuest {
		requireFailures(t, req, completion{id: refusedID, status: roce.StatusRemoteAccess})
		requireNAKs(t, b.tap.since(mark), w, firstPSN, bth.NAKRemoteAccess)
		return
	}
	require.Equal(t, roce.StatusSuccess, req.completions(t, 1)[0].status, "status of the requester's completion")
	require.Equal(t, roce.StateRTS, req.state(t), "the requester knows nothing of it")
	requireNAKs(t, b.tap.since(mark), w, firstPSN)
}

// foreignInvalidate is a SEND that invalidates a window that was bound for another
// connection. We refuse it; the kernel does not look whose the window is.
type foreignInvalidate struct{}

func (foreignInvalidate) String() string { return "SEND_WITH_INV of another connection's window" }

func (foreignInvalidate) run(t *testing.T, b *bench, w way) {
	user, owner := w.ends(b.connect(t, patient))
	at := bound(t, owner, owner.window(t), wordOff, 64, remoteRights)
	if w.requests == guest.FromGuest {
		badInvalidate{key: func(*testing.T, end) target { return at }}.run(t, b, w)
		write(t, user, at)
		return
	}
	req, resp := w.ends(b.connect(t, patient))
	resp.postRecv(t, recvID, arrivalOff, 8)
	req.post(t, work{id: 1, op: roce.OpSendInv, off: sourceOff, n: 8, at: at})
	require.Equal(t, completion{id: recvID, opcode: roce.WCRecv, bytes: 8, inv: at.key, hasInv: true}, resp.completions(t, 1)[0])
	user.post(t, work{id: refusedID, op: roce.OpWrite, off: sourceOff, n: 8, at: at})
	requireFailures(t, user, completion{id: refusedID, status: roce.StatusRemoteAccess})
}

// kernelFlag looks at the flags of the kernel's completion as they are: it sets the bit
// that means IBV_WC_IP_CSUM_OK to applications, in place of IBV_WC_WITH_INV.
type kernelFlag struct{}

func (kernelFlag) String() string { return "flags of the kernel's completion" }

func (kernelFlag) run(t *testing.T, b *bench, _ way) {
	p := b.connect(t, patient)
	at := bound(t, p.kernel, p.kernel.window(t), wordOff, 64, remoteRights)
	p.kernel.postRecv(t, 1, arrivalOff, 8)
	p.ours.post(t, work{id: 1, op: roce.OpSendInv, off: sourceOff, n: 8, at: at})
	wcs, err := p.kernel.qp.Poll(bounded(t), 1, stepTimeout/2)
	require.NoError(t, err)
	require.Len(t, wcs, 1)
	const withInv = 1 << 3 // IBV_WC_WITH_INV
	require.EqualValues(t, guest.PeerRxeWithInv, wcs[0].Flags&(guest.PeerRxeWithInv|withInv))
	require.Equal(t, at.key, wcs[0].Inv)
}

// requireArrived compares what arrived in the inbox with the pattern of a seed.
func requireArrived(t *testing.T, e end, seed uint64, n int) {
	t.Helper()
	require.Equal(t, sha256.Sum256(guest.Pattern(seed, n)), e.sum(t, arrivalOff, n), "memory of the end that receives: %s", e)
}
