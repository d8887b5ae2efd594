//go:build linux

package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// drainedSends are WRITEs of a requester that goes to SQD: those that it has begun it
// ends, even if a packet is lost, and says when; those posted since wait, while it goes on
// answering; back in RTS they follow.
type drainedSends struct{ lossy bool }

func (c drainedSends) String() string {
	if c.lossy {
		return "WRITEs drained, a packet lost"
	}
	return "WRITEs drained"
}

func (c drainedSends) run(t *testing.T, b *bench, w way) {
	const n, before, after = 4097, 6, 3
	takeEvents(b.dev)
	p := b.connect(t, resilient)
	req, resp := w.ends(p)
	req.fill(t, sourceOff, n*(before+after+1), 1)
	resp.fill(t, inboxOff, inboxSize, background)
	if c.lossy {
		defer b.tap.inflict(p, nth(bth.Request, 7))()
	}
	post := func(i int) work {
		wr := work{id: uint64(i), op: roce.OpWrite, off: sourceOff + i*n, n: n, at: resp.remote(arrivalOff + i*n)}
		req.post(t, wr)
		return wr
	}
	var works []work
	for i := range before {
		works = append(works, post(i))
	}
	req.drain(t)
	for i := range after {
		works = append(works, post(before+i))
	}
	req.drained(t)
	require.Equal(t, roce.StateSQD, req.state(t))
	requireSilent(t, b, w, req, resp)
	req.resume(t)
	if w.requests == guest.FromGuest { // the kernel goes on with what waits when something is posted
		requireSilent(t, b, w, req, resp)
		works = append(works, post(before+after))
	}
	for i, done := range req.completions(t, len(works)) {
		requireRequesterDone(t, done, works[i])
	}
	requireArrived(t, resp, 1, n*len(works))
	require.Equal(t, roce.StateRTS, req.state(t))
}

// requireSilent fails the test unless the requester answers a READ and sends nothing of its
// own meanwhile.
func requireSilent(t *testing.T, b *bench, w way, req, resp end) {
	t.Helper()
	mark := b.tap.mark()
	read := work{id: 1, op: roce.OpRead, off: sourceOff, n: pathMTU, at: req.remote(sourceOff)}
	resp.post(t, read)
	requireRequesterDone(t, resp.completions(t, 1)[0], read)
	require.Zero(t, count(b.tap.since(mark), func(s *sighting) bool { return s.dir == w.requests && s.is(bth.Request) }), "requests")
}

// changedPath gives our queue pair another traffic class and another timeout in SQD.
type changedPath struct{}

func (changedPath) String() string { return "traffic class changed in SQD" }

func (changedPath) run(t *testing.T, b *bench, w way) {
	const class = 0x68
	takeEvents(b.dev)
	p := b.connect(t, patient)
	write(t, p.ours, p.kernel.remote(wordOff))
	p.ours.drain(t)
	p.ours.drained(t)
	require.NoError(t, p.ours.qp.Modify(roce.QPAttr{DestAddr: b.guest, TrafficClass: class, Timeout: 17}, roce.AttrAV|roce.AttrTimeout))
	p.ours.resume(t)
	mark := b.tap.mark()
	write(t, p.ours, p.kernel.remote(wordOff))
	seen := b.tap.since(mark)
	require.EqualValues(t, class, seen[0].TrafficClass)
	require.EqualValues(t, 17, p.ours.qp.Attr().Timeout)
}
