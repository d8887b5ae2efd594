//go:build linux

package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
)

// crediting settings have our queue pair count its receives for the peer.
func crediting() settings {
	s := patient
	s.ours.Credits = true
	return s
}

// countedReceives are the kernel's SENDs to us, who tell in each acknowledgement how
// many receives are left. The kernel takes no notice.
type countedReceives struct{}

func (countedReceives) String() string { return "credits told to the kernel" }

func (countedReceives) run(t *testing.T, b *bench, w way) {
	const receives = 10
	p := b.connect(t, crediting())
	for id := range uint64(receives) {
		p.ours.postRecv(t, id, arrivalOff, 100)
	}
	send := func(id uint64) work {
		wr := work{id: id, op: roce.OpSend, off: sourceOff, n: 100}
		p.kernel.post(t, wr)
		return wr
	}
	arrived := func(wr work) {
		requireReceived(t, p.ours.completions(t, 1)[0], wr)
		requireRequesterDone(t, p.kernel.completions(t, 1)[0], wr)
	}
	mark := b.tap.mark()
	for id := range uint64(receives) {
		arrived(send(id))
	}
	var told []bth.Syndrome
	for _, s := range b.tap.since(mark) {
		if s.is(bth.HasAETH) {
			told = append(told, s.BTH.AETH.Syndrome)
		}
	}
	var want []bth.Syndrome
	for left := receives - 1; left >= 0; left-- {
		want = append(want, bth.ACKCredits(left))
	}
	require.Equal(t, want, told, "syndromes of acknowledgements")

	mark = b.tap.mark()
	wr := send(receives)
	b.tap.await(bounded(t), t, mark, func(s *sighting) bool { return s.isRNR(w) })
	p.ours.postRecv(t, receives, arrivalOff, 100)
	arrived(wr)
}

// uncountedReceives are SENDs of ours to the kernel, which counts nothing. We begin with
// one packet, learn that from its acknowledgement, and send the rest without a limit.
type uncountedReceives struct{}

func (uncountedReceives) String() string { return "no credits from the kernel" }

func (uncountedReceives) run(t *testing.T, b *bench, _ way) {
	const messages, n = 20, 2000
	p := b.connect(t, crediting())
	mark := b.tap.mark()
	var works []work
	for id := range uint64(messages) {
		p.kernel.postRecv(t, id, arrivalOff, n)
		works = append(works, work{id: id, op: roce.OpSend, off: sourceOff, n: n})
	}
	for _, wr := range works {
		p.ours.post(t, wr)
	}
	for i, done := range p.kernel.completions(t, messages) {
		requireReceived(t, done, works[i])
	}
	for i, done := range p.ours.completions(t, messages) {
		requireRequesterDone(t, done, works[i])
	}
	seen := b.tap.since(mark)
	require.True(t, seen[0].is(bth.Request) && seen[0].BTH.AckReq)
	require.True(t, seen[1].is(bth.HasAETH), "the first packet is sent alone")
	require.Equal(t, bth.ACKUnlimited, seen[1].BTH.AETH.Syndrome)
	require.Zero(t, p.ours.qp.Stats().Retransmitted)
}
