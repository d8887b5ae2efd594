//go:build linux

package interop

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// refusal is a request that the responder must refuse by a NAK that ends the
// connection.
type refusal struct {
	name   string
	op     roce.Op
	n      int
	access roce.Access // of the queue pairs; 0: all
	aim    func(t *testing.T, resp end) target
	nak    bth.Syndrome
	status roce.Status // of the requester's completion
}

// remoteOps are the operations that name the responder's memory, in one packet and in
// several, with the right that they need.
var remoteOps = []struct {
	op    roce.Op
	n     int
	right roce.Access
}{
	{roce.OpWrite, 100, roce.AccessRemoteWrite},
	{roce.OpWrite, 4097, roce.AccessRemoteWrite},
	{roce.OpWriteImm, 100, roce.AccessRemoteWrite},
	{roce.OpRead, 100, roce.AccessRemoteRead},
	{roce.OpRead, 4097, roce.AccessRemoteRead},
	{roce.OpFetchAdd, 8, roce.AccessRemoteAtomic},
	{roce.OpCompareSwap, 8, roce.AccessRemoteAtomic},
}

// refusals lists what must be refused in one direction (IBTA vol. 1, 9.7.5.2.4 and
// table 57).
func refusals(w way) (all []refusal) {
	add := func(r refusal, name string, nak bth.Syndrome, status roce.Status, aim func(*testing.T, end) target) {
		r.name, r.nak, r.status, r.aim = fmt.Sprintf("%s of %d bytes %s", r.op, r.n, name), nak, status, aim
		all = append(all, r)
	}
	for _, o := range remoteOps {
		r := refusal{op: o.op, n: o.n}
		add(r, "with a wrong key", bth.NAKRemoteAccess, roce.StatusRemoteAccess, func(_ *testing.T, resp end) target {
			at := resp.remote(wordOff)
			return target{at.addr, at.key ^ 0xff}
		})
		add(r, "beyond the end", bth.NAKRemoteAccess, roce.StatusRemoteAccess, func(_ *testing.T, resp end) target {
			return resp.remote(memorySize - o.n + 8)
		})
		add(r, "before the beginning", bth.NAKRemoteAccess, roce.StatusRemoteAccess, func(_ *testing.T, resp end) target {
			at := resp.remote(0)
			return target{at.addr - 8, at.key}
		})
		add(r, "without the region's right", bth.NAKRemoteAccess, roce.StatusRemoteAccess, func(t *testing.T, resp end) target {
			return resp.limited(t, allRights&^o.right)
		})
		r.access = allRights &^ o.right
		add(r, "without the queue pair's right", bth.NAKInvalidRequest, roce.StatusRemoteInvalid, func(_ *testing.T, resp end) target {
			return resp.remote(wordOff)
		})
		if isAtomic(o.op) && w.requests == guest.ToGuest { // the kernel posts no such request
			add(refusal{op: o.op, n: o.n}, "at an odd address", bth.NAKInvalidRequest, roce.StatusRemoteInvalid, func(_ *testing.T, resp end) target {
				return resp.remote(wordOff + 4)
			})
		}
	}
	return all
}

// IDs of the work requests in refusals.
const (
	refusedID = iota
	laterID   // posted behind it
	recvID
)

func (r refusal) String() string { return r.name }

// run has the request refused and holds what follows against the specification: one
// NAK, an error for the request, a flush for all other work of both ends, no change of
// memory, ERR.
func (r refusal) run(t *testing.T, b *bench, w way) {
	s := patient
	s.access = r.access
	p := b.connect(t, s)
	req, resp := w.ends(p)
	mark := b.tap.mark()
	before := resp.sum(t, 0, memorySize)
	resp.postRecv(t, recvID, arrivalOff, 8)
	resp.postRecv(t, laterID, arrivalOff, 8)
	req.post(t, work{id: refusedID, op: r.op, off: sourceOff, n: r.n, at: r.aim(t, resp)})
	req.post(t, work{id: laterID, op: roce.OpSend, off: sourceOff, n: 8})

	requireFailures(t, req, completion{id: refusedID, status: r.status}, completion{id: laterID, status: roce.StatusFlushed})
	requireFailures(t, resp, completion{id: recvID, status: r.recvStatus(w)}, completion{id: laterID, status: roce.StatusFlushed})
	requireNAKs(t, b.tap.since(mark), w, firstPSN, r.nak)
	require.Equal(t, before, resp.sum(t, 0, memorySize), "the responder's memory was changed")
}

// recvStatus is that of the receive which was posted. The kernel takes it for a WRITE
// with immediate before it looks at the key, and completes it with the error.
func (r refusal) recvStatus(w way) roce.Status {
	if r.op == roce.OpWriteImm && r.nak == bth.NAKRemoteAccess && w.requests == guest.ToGuest {
		return roce.StatusRemoteAccess
	}
	return roce.StatusFlushed
}

// requireFailures waits for an end's last completions. After an error its queue pair
// must be in ERR: for certain only after a flush, since the kernel completes the work
// that failed a little before.
func requireFailures(t *testing.T, e end, want ...completion) {
	t.Helper()
	got := e.completions(t, len(want))
	for i := range got {
		got[i] = completion{id: got[i].id, status: got[i].status}
	}
	require.Equal(t, want, got, "completions of the end that is %s", e)
	require.Equal(t, roce.StateErr, e.state(t), "state of the end that is %s", e)
}

// requireNAKs fails the test unless the responder sent exactly these NAKs, with the PSN
// of one packet.
func requireNAKs(t *testing.T, seen []*sighting, w way, psn bth.PSN, want ...bth.Syndrome) {
	t.Helper()
	var got []bth.Syndrome
	for _, s := range seen {
		if s.dir != w.requests && s.is(bth.HasAETH) && !s.BTH.AETH.Syndrome.IsACK() {
			require.Equal(t, psn, s.BTH.PSN, "PSN of a NAK")
			got = append(got, s.BTH.AETH.Syndrome)
		}
	}
	require.Equal(t, want, got, "NAKs on the wire")
}

// tooLong is a SEND that does not fit the receive. The kernel answers with another NAK
// than the specification has for it, and completes its receive with another error.
type tooLong struct{ n, room int }

func (c tooLong) String() string { return fmt.Sprintf("SEND of %d bytes into %d", c.n, c.room) }

func (c tooLong) run(t *testing.T, b *bench, w way) {
	nak, sent, received := bth.NAKInvalidRequest, roce.StatusRemoteInvalid, roce.StatusLocalLength
	if w.requests == guest.ToGuest {
		nak, sent, received = bth.NAKRemoteOperation, roce.StatusRemoteOperation, roce.StatusLocalQPOperation
	}
	p := b.connect(t, patient)
	req, resp := w.ends(p)
	mark := b.tap.mark()
	resp.postRecv(t, recvID, arrivalOff, c.room)
	resp.postRecv(t, laterID, arrivalOff, c.room)
	req.post(t, work{id: refusedID, op: roce.OpSend, off: sourceOff, n: c.n})
	requireFailures(t, req, completion{id: refusedID, status: sent})
	requireFailures(t, resp, completion{id: recvID, status: received}, completion{id: laterID, status: roce.StatusFlushed})
	firstTooMany := bth.PSN(firstPSN).Add(uint32(c.room / pathMTU))
	requireNAKs(t, b.tap.since(mark), w, firstTooMany, nak)
}
