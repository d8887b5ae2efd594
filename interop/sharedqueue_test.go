//go:build linux

package interop

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/interop/guest"
)

// sharedQueue is the responder's receive queue that several connections share.
type sharedQueue interface {
	postRecv(t *testing.T, id uint64, off, n int)
	arm(t *testing.T, limit int)
	// limitReached waits for the event that it was armed for.
	limitReached(t *testing.T)
	// noEvent fails the test if there was another one.
	noEvent(t *testing.T)
}

// sharedDepth is how many receives one holds.
const sharedDepth = 16

// share has connections with these settings take the responder's receives from a new
// queue, which lasts until the test ends.
func (b *bench) share(t *testing.T, w way, s *settings) sharedQueue {
	t.Helper()
	if w.requests == guest.FromGuest {
		takeEvents(b.dev)
		srq, err := b.pd.CreateSRQ(roce.SRQConfig{Depth: sharedDepth})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, srq.Close()) })
		s.ours.SRQ = srq
		return ourQueue{b, srq}
	}
	srq, err := b.peer.NewSRQ(bounded(t), sharedDepth)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srq.Destroy(bounded(t))) })
	s.kernel.SRQ = srq
	return kernelQueue{b, srq}
}

type ourQueue struct {
	*bench
	*roce.SRQ
}

func (q ourQueue) postRecv(t *testing.T, id uint64, off, n int) {
	t.Helper()
	_, err := q.PostRecv(roce.RecvWR{ID: id, SGE: q.mem.SGE(off, n)})
	require.NoError(t, err)
}

func (q ourQueue) arm(t *testing.T, limit int) {
	t.Helper()
	require.NoError(t, q.Arm(limit))
}

func (q ourQueue) limitReached(t *testing.T) {
	t.Helper()
	awaitEvent(t, q.dev, roce.Event{Kind: roce.EventLimitReached, SRQ: q.SRQ})
}

func (q ourQueue) noEvent(t *testing.T) {
	t.Helper()
	require.Empty(t, takeEvents(q.dev))
}

type kernelQueue struct {
	*bench
	*guest.PeerSRQ
}

func (q kernelQueue) postRecv(t *testing.T, id uint64, off, n int) {
	t.Helper()
	require.NoError(t, q.PostRecv(bounded(t), id, guest.PeerMem{Region: q.region, Off: off, N: n}))
}

func (q kernelQueue) arm(t *testing.T, limit int) {
	t.Helper()
	require.NoError(t, q.Arm(bounded(t), limit))
}

func (q kernelQueue) limitReached(t *testing.T) {
	t.Helper()
	event, err := q.peer.Event(bounded(t), stepTimeout/2)
	require.NoError(t, err)
	require.Equal(t, guest.PeerSRQLimit, event)
}

func (q kernelQueue) noEvent(t *testing.T) {
	t.Helper()
	event, err := q.peer.Event(bounded(t), 0)
	require.NoError(t, err)
	require.Equal(t, guest.PeerNoEvent, event)
}

// sharedReceives are SENDs over three connections to one queue. The event of its limit
// comes once; what comes while it is empty is refused, and comes again.
type sharedReceives struct{}

func (sharedReceives) String() string { return "three connections on one receive queue" }

const (
	sharers   = 3
	receives  = 8    // that are posted at a time
	messages  = 12   // number i over connection i%sharers
	slotSize  = 4096 // of a message in either end's memory
	firstSize = 1500 // each is a byte longer than the one before it
)

func (sharedReceives) run(t *testing.T, b *bench, w way) {
	s := patient
	queue := b.share(t, w, &s)
	var reqs, resps [sharers]end
	for i := range sharers {
		reqs[i], resps[i] = w.ends(b.connect(t, s))
	}
	post := func(from int) {
		for id := from; id < from+receives; id++ {
			queue.postRecv(t, uint64(id), arrivalOff+id*slotSize, slotSize)
		}
	}
	send := func(i int) {
		wr := work{id: uint64(i), op: roce.OpSend, off: sourceOff + i*slotSize, n: firstSize + i}
		reqs[i%sharers].fill(t, wr.off, wr.n, uint64(i))
		reqs[i%sharers].post(t, wr)
	}
	taken := map[uint64]bool{}
	receive := func(i int) {
		c := resps[i%sharers].completions(t, 1)[0]
		require.Equal(t, completion{id: c.id, opcode: roce.WCRecv, bytes: firstSize + i}, c, "completion of message %d", i)
		require.False(t, taken[c.id], "receive %d was used twice", c.id)
		taken[c.id] = true
		got := resps[i%sharers].sum(t, arrivalOff+int(c.id)*slotSize, c.bytes)
		require.Equal(t, sha256.Sum256(guest.Pattern(uint64(i), c.bytes)), got, "message %d", i)
	}

	post(0)
	queue.arm(t, 4)
	for i := range messages / 2 {
		send(i)
	}
	for i := range messages / 2 {
		receive(i)
	}
	queue.limitReached(t)
	mark := b.tap.mark()
	for i := messages / 2; i < messages; i++ {
		send(i)
	}
	b.tap.await(bounded(t), t, mark, func(s *sighting) bool { return s.isRNR(w) })
	post(receives)
	for i := messages / 2; i < messages; i++ {
		receive(i)
	}
	for i := range messages {
		require.Equal(t, completion{id: uint64(i), opcode: roce.WCSend}, sent(reqs[i%sharers].completions(t, 1)[0]))
	}
	queue.noEvent(t)
}

// sent is a requester's completion of a SEND, whose length means nothing.
func sent(c completion) completion {
	c.bytes = 0
	return c
}
