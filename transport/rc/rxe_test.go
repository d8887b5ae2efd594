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

// What rdma_rxe does differently, played by hand: it must cost no more than it has to. Its
// sequence NAK behind an RNR NAK is in rnr_test.go, its READ restarts in restart_test.go, its
// requests for acknowledgements in acks_test.go.

// TestPeerRetriesForever proves that a requester with a retry count of 7, which rdma_rxe takes for
// infinite, gets one acknowledgement for each time that it comes, for as long as it likes,
// and that this changes nothing.
func TestPeerRetriesForever(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 3*testMTU)
	p.a.post(p.ask(qp.OpSend, 0, 3*testMTU))
	sent := p.a.drain()
	p.b.say(sent...)
	for range 10_000 {
		p.now = p.now.Add(68 * time.Millisecond)
		p.b.requireAck(p.b.say(sent...), 102, 1, transport.CauseAckDuplicate)
		require.Equal(t, clock.Never, p.b.m.Deadline())
	}
	require.Len(t, p.b.recvs, 1)
	require.EqualValues(t, 3, p.b.m.Stats().Duplicates/10_000)
}

// TestAckPerDuplicate proves that a responder that acknowledges each duplicate, by its newest
// PSN, provokes nothing: after going back, of as many acknowledgements as packets were
// sent again the first completes the work and the others are old.
func TestAckPerDuplicate(t *testing.T) {
	p := newPair(t, defaults())
	for range 10 {
		p.a.post(p.ask(qp.OpWrite, 0, 10))
	}
	sent := len(p.a.drain())
	p.advance(p.a) // all acknowledgements were lost
	require.Len(t, p.a.drain(), sent)
	for i := range sent {
		v := p.a.recv(withMSN(response(bth.RCAcknowledge, 109, 0), 10))
		require.Equal(t, i == 0, v.Rule == transport.RuleAck, "%s", v)
	}
	p.a.requireSends(ok(10)...)
	require.Empty(t, p.a.drain())
	require.Equal(t, clock.Never, p.a.m.Deadline())
	require.EqualValues(t, sent, p.a.m.Stats().Retransmitted)
}

// TestPeerDropsAcksOfRewoundWork proves that a requester that has gone back, and drops our
// acknowledgements for what it is about to send again, is served by the answers to that: it
// gets an acknowledgement of the newest PSN for each of its packets.
func TestPeerDropsAcksOfRewoundWork(t *testing.T) {
	p := newPair(t, defaults())
	for range 10 {
		p.a.post(p.ask(qp.OpWrite, 0, 10))
	}
	sent := p.a.drain()
	p.b.say(sent...)
	for _, pkt := range sent { // it goes on from the first, one by one
		p.b.requireAck(p.b.say(pkt), 109, 10, transport.CauseAckDuplicate)
	}
	next := request(bth.RCWriteOnly, 110, 0)
	p.b.requireAck(p.b.say(next), 110, 11, transport.CauseAck)
}

// TestTooLongAsRemoteOperation proves that a SEND which rdma_rxe refuses as too long, by NAK remote
// operational error, fails so, at the packet that it names, with everything behind it.
func TestTooLongAsRemoteOperation(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpWrite, 0, 10))
	p.a.post(p.ask(qp.OpSend, 0, 3*testMTU))
	p.a.post(p.ask(qp.OpWrite, 0, 10))
	p.a.drain()
	nak := withMSN(withSyndrome(response(bth.RCAcknowledge, 102, 0), bth.NAKRemoteOperation), 1)
	require.Equal(t, transport.RuleRemoteOp, p.a.recv(nak).Rule)
	p.a.requireSends(cq.StatusSuccess, cq.StatusRemoteOperation, cq.StatusFlushed)
}

// TestAcksOfAnUnfinishedMessage proves that an acknowledgement in the middle of a message, as
// rdma_rxe sends for duplicates there, moves on what is sent again and completes nothing.
func TestAcksOfAnUnfinishedMessage(t *testing.T) {
	p := newPair(t, defaults())
	p.a.post(p.ask(qp.OpSend, 0, 6*testMTU))
	p.a.drain()
	p.advance(p.a)
	require.Equal(t, bth.PSN(100), p.a.next().PSN)
	p.a.recv(response(bth.RCAcknowledge, 103, 0))
	require.Empty(t, p.a.sends)
	require.Equal(t, []bth.PSN{104, 105}, psnsOf(p.a.drain()))
	p.a.recv(response(bth.RCAcknowledge, 105, 0))
	p.a.requireSends(ok(1)...)
}
