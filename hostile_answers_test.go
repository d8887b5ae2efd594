package roce_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/transport"
)

// Attacks on the requester: answers that nobody asked for, or too many of them.

// outstanding has the victim send n empty WRITEs, which nobody answers.
func (s *siege) outstanding(n int) {
	s.t.Helper()
	for range n {
		s.victim.send(roce.SendWR{Op: roce.OpWrite, Flags: roce.Signaled})
	}
	s.settle()
	require.Len(s.t, s.heard(), n)
}

// answer is an answer of any kind for a PSN of the victim's.
func (s *siege) answer(op bth.Opcode, psn bth.PSN, y bth.Syndrome) packet {
	return s.forged(op, bthtest.PSN(psn), bthtest.AETH(y, 0), bthtest.Pattern(payloadOf(op)))
}

// payloadOf is what a packet of READ data holds at least.
func payloadOf(op bth.Opcode) int {
	if op == bth.RCAcknowledge || op == bth.RCAtomicAck {
		return 0
	}
	return 8
}

var answerOpcodes = []bth.Opcode{
	bth.RCAcknowledge, bth.RCAtomicAck, bth.RCReadRespFirst, bth.RCReadRespMiddle, bth.RCReadRespLast, bth.RCReadRespOnly,
}

// Answers of every kind and syndrome with PSNs before and beyond what is outstanding, by
// whoever can write the peer's address: each is ignored, nothing is sent again, and the
// answers that belong to the work still complete it.
func TestWildAnswers(t *testing.T) {
	s := newSiege(t, roce.WithRetry(24, 7, 7)) // a timeout of a minute
	const n = 4
	s.outstanding(n)
	first := s.firstPSN()
	for _, op := range answerOpcodes {
		for _, y := range everySyndrome {
			for rule, offsets := range map[transport.Rule][]int{
				transport.RuleOldResponse: {-1, -2, -100, -1 << 22, 1 - 1<<23},
				transport.RuleGhost:       {n, n + 1, 1 << 12, 1 << 22, 1<<23 - 1},
			} {
				for _, off := range offsets {
					before := s.tally.rules[rule]
					s.answer(op, first.Add(uint32(off)), y).fire()
					s.settle()
					require.Equal(t, before+1, s.tally.rules[rule], "%s %s at %+d: %s", op, y, off, rule)
				}
			}
		}
	}
	st := s.victim.qp.Stats()
	require.Zero(t, st.Retransmitted+st.Timeouts+st.RNRWaits, "%+v", st)
	require.Empty(t, s.heard())
	s.answer(bth.RCAcknowledge, first.Add(n-1), bth.ACKUnlimited).fire()
	s.settle()
	require.Equal(t, n, s.succeeded(s.victim))
	s.business()
	s.unconcerned()
}

// Storms of NAKs for what is outstanding, from the peer itself, in volleys of 200: the
// victim sends again once, or waits once. Without progress nothing but its own clock
// makes it send again, so that it costs the peer more than the victim.
func TestStormsOfNAKs(t *testing.T) {
	const n, volley = 8, 200
	for name, c := range map[string]struct {
		syndromes []bth.Syndrome
		again     int // packets sent again at most, for ever
		waits     int
		rule      transport.Rule
	}{
		"sequence NAKs":      {[]bth.Syndrome{bth.NAKSequence}, n, 0, transport.RuleNAKAgain},
		"RNR NAKs":           {[]bth.Syndrome{bth.RNRNAK(0)}, 0, 1, transport.RuleNAKAgain}, // wait 655 ms
		"RNR, then sequence": {[]bth.Syndrome{bth.RNRNAK(0), bth.NAKSequence}, 0, 1, transport.RuleNAKAgain},
		"sequence, then RNR": {[]bth.Syndrome{bth.NAKSequence, bth.RNRNAK(0)}, n, 1, transport.RuleNAKAgain},
		"acknowledgements":   {[]bth.Syndrome{bth.ACKUnlimited, bth.ACKCredits(0)}, 0, 0, transport.RuleOldResponse},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, roce.WithRetry(20, 7, 7)) // a timeout of 4 s
			s.outstanding(n)
			psn := s.firstPSN()
			if c.rule == transport.RuleOldResponse {
				psn = psn.Sub(1)
			}
			var packets []packet
			for i := range volley {
				packets = append(packets, s.answer(bth.RCAcknowledge, psn, c.syndromes[i%len(c.syndromes)]))
			}
			s.under(20, func() { fire(packets...) })
			st := s.victim.qp.Stats()
			require.LessOrEqual(t, st.Retransmitted, uint64(c.again))
			require.EqualValues(t, c.waits, st.RNRWaits)
			require.Equal(t, roce.StateRTS, s.victim.qp.State())
			require.GreaterOrEqual(t, s.tally.rules[c.rule], 20*(volley-2))

			s.answer(bth.RCAcknowledge, s.firstPSN().Add(n-1), bth.ACKUnlimited).fire()
			s.settle()
			require.Equal(t, n, s.succeeded(s.victim))
		})
	}
}

// A peer that acknowledges one packet and asks for the rest again, over and over: the
// victim's window shrinks, so that it sends a few packets for each of the peer's and not
// its whole queue.
func TestPeerThatMovesOnByOne(t *testing.T) {
	s := newSiege(t)
	const n = 60
	s.outstanding(n)
	for i := range n - 1 {
		s.answer(bth.RCAcknowledge, s.firstPSN().Add(uint32(i)), bth.ACKUnlimited).fire()
		s.answer(bth.RCAcknowledge, s.firstPSN().Add(uint32(i+1)), bth.NAKSequence).fire()
		s.settle()
	}
	s.answer(bth.RCAcknowledge, s.firstPSN().Add(n-1), bth.ACKUnlimited).fire()
	s.settle()
	done := 0
	for got := s.succeeded(s.victim); got > 0; got = s.succeeded(s.victim) {
		done += got
	}
	require.Equal(t, n, done)
	t.Logf("%d answers, %d packets sent again", 2*n-1, s.victim.qp.Stats().Retransmitted)
	require.LessOrEqual(t, s.victim.qp.Stats().Retransmitted, uint64(6*n), "without the window it were %d", n*(n-1)/2)
	s.business()
	s.unconcerned()
}

// A receiver that is never ready, though the victim has patience without end: one try for
// each wait, none in between, and the wait is as long as the NAK says.
func TestReceiverThatIsNeverReady(t *testing.T) {
	s := newSiege(t, roce.WithRetry(14, 7, 7))
	s.victim.send(roce.SendWR{Op: roce.OpSend})
	nak := s.answer(bth.RCAcknowledge, s.firstPSN(), bth.RNRNAK(12)) // 640 µs
	const waits = 100
	sent := 0
	for limit := s.world.Now().Add(waits * 640 * time.Microsecond); s.world.Now() < limit; {
		for range s.heard() {
			sent++
			fire(nak, nak, nak)
		}
		_, err := s.world.Step()
		require.NoError(t, err)
	}
	require.InDelta(t, waits, sent, 2)
	require.Zero(t, s.victim.qp.Stats().Timeouts)
	s.unconcerned()
}

// Answers at random from the peer itself, the right PSNs among them, to work of every
// kind. Whatever comes of it, all work completes once, in order; and the peer can end its own
// connection only.
func TestGarbageAnswers(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	s := newSiege(t, roce.WithRetry(8, 3, 3))
	ops := []roce.Op{roce.OpWrite, roce.OpWriteImm, roce.OpSend, roce.OpSendImm, roce.OpRead, roce.OpCompareSwap, roce.OpFetchAdd}
	outcomes := map[roce.Status]int{}
	for range 300 {
		const n = 12
		first := s.firstPSN()
		var wcs [n + 1]roce.WC
		done := 0
		for i := range n {
			op := ops[r.IntN(len(ops))]
			size := r.IntN(3*siegeMTU + 1)
			if op == roce.OpCompareSwap || op == roce.OpFetchAdd {
				size = 8
			}
			s.victim.send(roce.SendWR{ID: uint64(i), Op: op, SGE: s.victim.mr.SGE(0, size), Flags: roce.Signaled})
		}
		for limit := s.world.Now().Add(time.Second); done < n; {
			op := answerOpcodes[r.IntN(len(answerOpcodes))]
			y := everySyndrome[r.IntN(len(everySyndrome))]
			if r.IntN(4) > 0 {
				y = bth.ACKUnlimited
			}
			s.forged(op, bthtest.PSN(first.Add(uint32(r.IntN(4*n)-2))), bthtest.AETH(y, r.Uint32N(n)),
				bthtest.Pattern([]int{0, 8, siegeMTU}[r.IntN(3)])).fire()
			s.deafen()
			require.NoError(t, s.world.Run(s.world.Now().Add(10*time.Microsecond)))
			got := s.victim.cq.Poll(wcs[done:])
			for i := range got {
				require.EqualValues(t, done+i, wcs[done+i].ID, "completions in order, each once")
				outcomes[wcs[done+i].Status]++
			}
			done += got
			require.Less(t, s.world.Now(), limit, "work that never ends")
		}
		s.settle()
		require.Zero(t, s.victim.cq.Poll(wcs[:]), "more completions than work")
		s.business()
		s.revive(roce.WithRetry(8, 3, 3))
	}
	t.Log(outcomes)
	require.NotZero(t, outcomes[roce.StatusSuccess])
	require.NotZero(t, outcomes[roce.StatusBadResponse])
	s.unconcerned()
}
