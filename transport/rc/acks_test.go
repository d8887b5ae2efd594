package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// TestCumulativeAck proves 9.7.5.2: an acknowledgement is one of everything up to its PSN,
// messages of all lengths, as adapters coalesce them. One in the middle of a message
// completes what lies before, and is where a timeout resumes.
func TestCumulativeAck(t *testing.T) {
	for acked, want := range map[bth.PSN]struct {
		done int
		op   bth.Opcode // the first packet that is sent again
	}{
		100: {0, bth.RCWriteMiddle}, 101: {0, bth.RCWriteLast}, 102: {1, bth.RCSendOnly}, 103: {2, bth.RCWriteOnly},
		104: {3, bth.RCSendFirst}, 105: {3, bth.RCSendMiddle}, 106: {3, bth.RCSendLast}, 107: {4, bth.RCWriteOnlyImm},
	} {
		p := newPair(t, defaults())
		for _, wr := range []qp.SendWR{
			p.ask(qp.OpWrite, 0, 3*testMTU), p.ask(qp.OpSend, 0, 0), p.ask(qp.OpWrite, 0, 1), p.ask(qp.OpSend, 0, 2*testMTU+1), p.ask(qp.OpWriteImm, 0, 1),
		} {
			p.a.post(wr)
		}
		require.Len(t, p.a.drain(), 9)
		require.Equal(t, transport.RuleAck, p.a.recv(response(bth.RCAcknowledge, acked, 0)).Rule)
		require.Len(t, p.a.sends, want.done, "PSN %d", acked)
		require.Empty(t, p.a.drain())
		p.advance(p.a)
		again := p.a.drain()[0]
		require.Equal(t, acked.Add(1), again.PSN)
		require.Equal(t, want.op, again.Opcode)
		p.a.recv(response(bth.RCAcknowledge, 108, 0))
		p.a.requireSends(ok(5)...)
	}
}

// TestAckReqPlacement proves where a requester asks for an acknowledgement: at the end of
// every message, READs and atomics included, and every 32 packets inside a long one, for
// peers that grant 128 PSNs; the repetition asks again.
func TestAckReqPlacement(t *testing.T) {
	p := newPair(t, defaults())
	for _, op := range wireOps {
		p.a.post(p.ask(op, 0, 2*testMTU+1))
	}
	p.a.post(p.ask(qp.OpWrite, 0, 100*testMTU))
	asks := func(pkts []*packet) (list []bth.PSN) {
		silent := 0
		for _, pkt := range pkts {
			silent++
			if pkt.AckReq {
				list, silent = append(list, pkt.PSN), 0
			} else {
				require.False(t, pkt.Opcode.Is(bth.Last), "%s", pkt)
			}
			require.Less(t, silent, 32)
		}
		return list
	}
	first := p.a.drain()
	once := asks(first)
	require.Subset(t, once, []bth.PSN{102, 105, 108, 111, 112, 115, 116})
	require.True(t, first[len(first)-1].AckReq, "the last one before it idles")
}

// TestAckOnlyWhenAsked proves that a request is acknowledged if it asks, in the middle of a
// message too and at once, with the count of what is complete; else not. rdma_rxe asks at
// every 66th packet and stalls at 128 (9.7.5.1.2).
func TestAckOnlyWhenAsked(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, memSize)
	psn := bth.PSN(100)
	require.Empty(t, p.b.say(withoutAckReq(request(bth.RCSendFirst, psn, testMTU))))
	for i := range 300 {
		psn++
		middle := request(bth.RCSendMiddle, psn, testMTU)
		if i%66 != 0 {
			require.Empty(t, p.b.say(withoutAckReq(middle)))
			continue
		}
		p.b.requireAck(p.b.say(middle), psn, 0, transport.CauseAck)
	}
	require.Empty(t, p.b.say(withoutAckReq(request(bth.RCSendLast, psn+1, 1))))
	require.Len(t, p.b.recvs, 1)
	p.b.requireAck(p.b.say(request(bth.RCWriteOnly, psn+2, 0)), psn+2, 2, transport.CauseAck)
}

// TestAckPacket proves what an acknowledgement looks like, whoever asked: bits, keys and
// numbers of the connection, MigReq as adapters have it, which is 1 (W13).
func TestAckPacket(t *testing.T) {
	p := newPair(t, defaults())
	for _, migReq := range []bool{false, true} {
		r := request(bth.RCWriteOnly, 100, 0)
		r.MigReq, r.Solicited = migReq, true
		ack := p.b.say(r)[0]
		require.Equal(t, bth.Packet{
			Opcode: bth.RCAcknowledge, MigReq: true, PKey: bth.DefaultPKey, DestQP: 0x11, PSN: 100,
			AETH: bth.AETH{Syndrome: bth.ACKUnlimited, MSN: 1}, Payload: [2][]byte{{}, {}},
		}, canonical(ack))
	}
}

// canonical has empty pieces of payload where there are none.
func canonical(p *packet) bth.Packet {
	c := p.Packet
	for i := range c.Payload {
		c.Payload[i] = append([]byte{}, c.Payload[i]...)
	}
	return c
}

// TestMigReq proves W13: every packet is sent with MigReq 1; requests and answers are taken
// with either value, and mean the same.
func TestMigReq(t *testing.T) {
	for _, migReq := range []bool{false, true} {
		p := newPair(t, defaults())
		p.lose = func(_ *host, pkt *packet) bool {
			require.True(t, pkt.MigReq, "%s", pkt)
			pkt.MigReq = migReq
			return false
		}
		for i, op := range wireOps {
			p.b.postRecv(uint64(i), 0, 3*testMTU)
			p.a.post(p.ask(op, 0, 3*testMTU))
		}
		p.settle()
		p.a.requireSends(ok(len(wireOps))...)
		require.Zero(t, p.a.m.Stats().Retransmitted)
	}
}

// TestAnswersInOrder proves 9.7.5.1.2: an acknowledgement of a later request does not
// overtake the answer of a READ before it, not even when only acknowledgements may go; the
// answer acknowledges what came before it, so nothing else does.
func TestAnswersInOrder(t *testing.T) {
	p := newPair(t, defaults())
	p.b.postRecv(1, 0, 8)
	p.a.post(p.ask(qp.OpWrite, 0, 8))
	p.a.post(p.ask(qp.OpRead, 0, 3*testMTU))
	p.a.post(p.ask(qp.OpSend, 0, 8))
	p.a.post(p.ask(qp.OpFetchAdd, 0, 8))
	p.a.post(p.ask(qp.OpWrite, 0, 8))
	p.b.hear(p.a.drain()...)
	for range 3 {
		require.False(t, p.b.m.Next(p.now, transport.ClassAck.Mask(), new(rc.Out)))
		require.True(t, p.b.next().Opcode.Is(bth.Read))
	}
	rest := p.b.drain()
	require.Equal(t, []bth.PSN{105, 106}, psnsOf(rest), "the atomic's answer acknowledges the SEND")
	require.Equal(t, bth.RCAtomicAck, rest[0].Opcode)
}
