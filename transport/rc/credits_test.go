package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// counting has a machine announce its receives.
func counting(c *rc.Config) { c.Credits = true }

// granted is an ACK of a PSN with an MSN and credits.
func granted(psn bth.PSN, msn, credits int) *packet {
	p := response(bth.RCAcknowledge, psn, 0)
	p.AETH = bth.AETH{Syndrome: bth.ACKCredits(credits), MSN: uint32(msn)}
	return p
}

// sendsOf posts n one-packet messages of an operation from A.
func (p *pair) sendsOf(op qp.Op, n int) {
	for range n {
		p.a.post(qp.SendWR{Op: op, SGE: p.a.sge(0, 8), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	}
}

// TestCreditsAnnounced proves 9.7.7.2: every positive acknowledgement, of READs and
// atomics too, tells how many receives are posted, rounded down to what has a code; NAKs
// keep their own syndromes. Without the option, and with shared receives, it
// says that it says nothing.
func TestCreditsAnnounced(t *testing.T) {
	syndromes := func(receives int, opts ...func(*rc.Config)) (got []bth.Syndrome) {
		p := newPair(t, defaults(), opts...)
		for i := range receives {
			p.b.postRecv(uint64(i), 0, 8)
		}
		for _, op := range []qp.Op{qp.OpWrite, qp.OpRead, qp.OpFetchAdd, qp.OpSend} {
			p.sendsOf(op, 1)
			for _, pkt := range p.a.drain() {
				p.b.recv(pkt)
			}
			for _, pkt := range p.b.drain() {
				got = append(got, pkt.AETH.Syndrome)
				p.a.recv(pkt)
			}
		}
		return got
	}
	all := func(n bth.Syndrome) []bth.Syndrome { return []bth.Syndrome{n, n, n, n} }
	require.Equal(t, all(bth.ACKUnlimited), syndromes(6))
	five := bth.ACKCredits(5)
	require.Equal(t, bth.Syndrome(4), five, "there is no code for five: four")
	require.Equal(t, []bth.Syndrome{5, 5, 5, five}, syndromes(6, counting))
	require.Equal(t, []bth.Syndrome{0, 0, 0, bth.RNRNAK(14)}, syndromes(0, counting))
	shared := qp.NewSharedRecvQueue(4, 1)
	require.NoError(t, shared.Post(&qp.RecvWR{}))
	require.NoError(t, shared.Post(&qp.RecvWR{SGE: qp.SGE{}}))
	got := syndromes(0, counting, sharing(shared))
	require.Equal(t, all(bth.ACKUnlimited)[:3], got[:3])
}

// TestCreditsObeyed proves 9.7.7.2: of the messages that need a receive no more are sent
// than MSN and credits allow, and one beyond; others pass. New credits, in a repeated
// acknowledgement too, let the rest go.
func TestCreditsObeyed(t *testing.T) {
	for name, op := range map[string]qp.Op{"SEND": qp.OpSend, "SEND with immediate": qp.OpSendImm, "WRITE with immediate": qp.OpWriteImm} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, defaults())
			p.sendsOf(qp.OpWrite, 1)
			require.Len(t, p.a.drain(), 1)
			require.Equal(t, transport.RuleAck, p.a.recv(granted(100, 1, 2)).Rule)
			p.sendsOf(qp.OpWrite, 3) // need no receive, and move the MSN
			p.sendsOf(op, 7)
			p.sendsOf(qp.OpWrite, 1) // stays behind them all the same
			require.Len(t, p.a.drain(), 3+2+1, "two credits, and one beyond")
			require.Equal(t, transport.BlockedCredits, p.a.m.Why())
			p.a.recv(granted(105, 6, 0)) // two taken, none posted
			require.Empty(t, p.a.drain(), "one beyond is on its way")
			p.a.recv(granted(106, 7, 0))
			require.Len(t, p.a.drain(), 1)
			p.a.recv(granted(106, 7, 2)) // the same again, two receives later
			require.Len(t, p.a.drain(), 2)
			p.a.recv(granted(109, 10, 16))
			require.Len(t, p.a.drain(), 2, "the last one, and the WRITE behind it")
		})
	}
}

// TestCreditsNotTakenBack proves that an acknowledgement that says less, an old one for
// instance, changes nothing, and that a senseless MSN does not either.
func TestCreditsNotTakenBack(t *testing.T) {
	p := newPair(t, defaults())
	p.sendsOf(qp.OpSend, 2)
	p.a.drain()
	p.a.recv(granted(100, 1, 4)) // up to message 5
	p.sendsOf(qp.OpSend, 8)
	require.Len(t, p.a.drain(), 4, "3, 4, 5, and one beyond")
	p.a.recv(granted(101, 2, 0))
	p.a.recv(granted(104, 5, 0))
	require.Empty(t, p.a.drain())
	for _, msn := range []int{0, 1, 4, 7, 100, 1 << 23, 1<<24 - 1} {
		p.a.recv(granted(104, msn, 32768))
		require.Empty(t, p.a.drain(), "MSN %d", msn)
	}
	for n := 1; n < 4; n++ {
		p.a.recv(granted(104, 5, n))
		require.Len(t, p.a.drain(), 1)
	}
}

// TestProbe proves the rule for the one message beyond: its first packet goes alone and
// asks for an acknowledgement; that it was taken is leave for the rest, whatever the
// credits say (9.7.7.2).
func TestProbe(t *testing.T) {
	p := newPair(t, defaults())
	p.sendsOf(qp.OpSend, 1)
	p.a.drain()
	p.a.recv(granted(100, 1, 0))
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 5*testMTU)})
	first := p.a.drain()
	require.Len(t, first, 1)
	require.Equal(t, bth.RCSendFirst, first[0].Opcode)
	require.True(t, first[0].AckReq)
	require.Equal(t, transport.BlockedCredits, p.a.m.Why())
	p.a.recv(granted(101, 1, 0))
	rest := p.a.drain()
	require.Len(t, rest, 4)
	require.False(t, rest[0].AckReq && rest[1].AckReq && rest[2].AckReq)
	p.a.recv(granted(105, 2, 0))
	p.a.requireSends(ok(2)...)
}

// TestProbeMeetsNoReceive proves that a message beyond the credits is answered by an RNR
// NAK when there really is no receive, and goes through when there is one again.
func TestProbeMeetsNoReceive(t *testing.T) {
	p := newPair(t, defaults(), counting)
	p.b.postRecv(0, 0, 4096)
	p.sendsOf(qp.OpSend, 1)
	p.flow()
	for range 3 {
		p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 3*testMTU)})
	}
	p.flow()
	require.EqualValues(t, 1, p.b.m.Stats().RNRNAKs)
	require.Zero(t, p.b.m.Stats().Gaps, "nothing followed the first packet")
	for i := range uint64(3) {
		p.b.postRecv(1+i, 0, 4096)
	}
	p.settle()
	p.a.requireSends(ok(4)...)
	require.EqualValues(t, 1, p.b.m.Stats().RNRNAKs)
}

// TestLostProbe proves that the timeout repeats the one packet, and that a queue pair out
// of credits never waits without one.
func TestLostProbe(t *testing.T) {
	o := defaults()
	o.retry, o.goBackN = 3, true
	p := newPair(t, o)
	p.sendsOf(qp.OpSend, 1)
	p.a.drain()
	p.a.recv(granted(100, 1, 0))
	p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 2*testMTU)})
	for range 4 {
		require.Len(t, p.a.drain(), 1)
		p.now = p.a.m.Deadline()
		p.a.m.Advance(p.now)
	}
	require.Equal(t, qp.StateErr, p.a.m.State())
}

// TestCreditsOfRepeatedPackets proves that credits hold for what is sent again: what went
// out before anything was known of them is repeated only as far as they reach.
func TestCreditsOfRepeatedPackets(t *testing.T) {
	for credits, want := range map[int]int{0: 1, 2: 3, 8: 5} {
		o := defaults()
		o.goBackN = true
		p := newPair(t, o)
		p.sendsOf(qp.OpSend, 6)
		require.Len(t, p.a.drain(), 6)
		p.a.recv(granted(100, 1, credits))
		p.now = p.a.m.Deadline()
		p.a.m.Advance(p.now)
		again := p.a.drain()
		require.Len(t, again, want, "%d credits", credits)
		require.Equal(t, bth.PSN(101), again[0].PSN)
	}
}

// TestCreditsBeforeRNR proves that a responder that counts sends the acknowledgement that
// an RNR NAK makes superfluous, for its credits: else a peer that began without a limit
// would repeat in vain all that follows.
func TestCreditsBeforeRNR(t *testing.T) {
	p := newPair(t, defaults(), counting)
	p.b.postRecv(1, 0, 8)
	p.sendsOf(qp.OpSend, 5)
	for _, pkt := range p.a.drain() {
		p.b.recv(pkt)
	}
	answers := p.b.drain()
	require.Len(t, answers, 2)
	require.Equal(t, bth.ACKCredits(0), answers[0].AETH.Syndrome)
	require.Equal(t, bth.PSN(100), answers[0].PSN)
	require.Equal(t, bth.RNRNAK(14), answers[1].AETH.Syndrome)
	require.Equal(t, bth.PSN(101), answers[1].PSN)
	for _, pkt := range answers {
		p.a.recv(pkt)
	}
	p.now = p.a.m.Deadline()
	p.a.m.Advance(p.now)
	require.Len(t, p.a.drain(), 1, "one beyond")
}

// TestPeerStopsCounting proves that the syndrome without credits lifts the limit, as
// peers that never count are not limited (9.7.7.2).
func TestPeerStopsCounting(t *testing.T) {
	p := newPair(t, defaults())
	p.sendsOf(qp.OpSend, 40)
	require.Len(t, p.a.drain(), 40, "nobody counted yet")
	p.a.recv(granted(100, 1, 0))
	p.sendsOf(qp.OpSend, 10)
	require.Empty(t, p.a.drain())
	p.a.recv(response(bth.RCAcknowledge, 139, 0)) // MSN 0: not looked at
	require.Empty(t, p.a.drain()[1:])
	last := response(bth.RCAcknowledge, 140, 0)
	last.AETH.MSN = 41
	p.a.recv(last)
	require.Len(t, p.a.drain(), 9)
}

// TestCreditsUnderLoss proves that a counting responder with few receives, and loss of
// every kind of packet, neither hangs the requester nor changes what arrives.
func TestCreditsUnderLoss(t *testing.T) {
	for nth := range 40 {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			o := defaults()
			o.psnA = 0xfffffa
			p := newPair(t, o, counting)
			const messages = 12
			posted := 0
			refill := func() {
				for posted < messages && posted < len(p.b.recvs)+2 {
					p.b.postRecv(uint64(posted), 0, 4*testMTU)
					posted++
				}
			}
			refill()
			lost := 0
			p.lose = func(*host, *packet) bool {
				refill()
				lost++
				return lost%40 == nth
			}
			for i := range messages {
				p.sendsOf(qp.OpRead, i%2)
				p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, (i%3)*testMTU+7)})
				p.sendsOf(qp.OpWrite, i%3)
			}
			p.settle()
			require.Len(t, p.b.recvs, messages)
			for _, wc := range append(p.a.sends, p.b.recvs...) {
				require.NoError(t, wc.Err())
			}
			require.Equal(t, qp.StateRTS, p.a.m.State())
		})
	}
}

// TestCreditsOfEveryKind proves I04: after one message, an acknowledgement with each of the 32
// credit codes lets as many messages go as it says, and one beyond; 31 says nothing, and
// lets all go. None is silence for ever.
func TestCreditsOfEveryKind(t *testing.T) {
	const posted = 400
	for code := range bth.Syndrome(32) {
		p := newPair(t, defaults())
		p.sendsOf(qp.OpSend, 1)
		p.a.drain()
		p.a.recv(withMSN(withSyndrome(response(bth.RCAcknowledge, 100, 0), code), 1))
		p.sendsOf(qp.OpSend, posted)
		want := posted
		if n, counted := code.Credits(); counted {
			want = min(n+1, posted)
		}
		last := bth.PSN(100)
		for sent := p.a.drain(); len(sent) > 0; sent = p.a.drain() { // a window at a time
			last = sent[len(sent)-1].PSN
			p.a.recv(withMSN(withSyndrome(response(bth.RCAcknowledge, last, 0), bth.ACKCredits(0)), uint32(last-99)))
			if last.Diff(100) >= int32(want) {
				break
			}
		}
		require.EqualValues(t, want, last.Diff(100), "code %d", code)
	}
}
