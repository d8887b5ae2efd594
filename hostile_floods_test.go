package roce_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/bth/bthtest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// Floods of requests, from the peer and from others.

// inOrder gives packets the PSNs from psn on, without allocating, and returns the one
// behind the last.
func inOrder(packets []packet, psn bth.PSN) bth.PSN {
	var body [1][]byte
	for _, p := range packets {
		ackReq := uint32(p.data[8]) << 24
		binary.BigEndian.PutUint32(p.data[8:], ackReq|uint32(psn))
		end := len(p.data) - wire.ICRCLen
		body[0] = p.data[bth.BTHLen:end]
		flow := wire.MakeFlow(p.meta.Src, p.meta.Dst, p.meta.SrcPort, p.meta.Flags)
		flow.Seal(p.meta.ID, p.data[:bth.BTHLen], body[:], p.data[end:])
		psn = psn.Add(1)
	}
	return psn
}

// repeated is n copies of a packet, each with bytes of its own.
func repeated(n int, p packet) (packets []packet) {
	for range n {
		q := p
		q.data = append([]byte(nil), p.data...)
		packets = append(packets, q)
	}
	return packets
}

// ask is a request of the enemy's at a distance from its first PSN.
func (s *siege) ask(op bth.Opcode, off int, opts ...bthtest.Option) packet {
	opts = append([]bthtest.Option{bthtest.PSN(enemyPSN.Add(uint32(off))), bthtest.AckReq}, opts...)
	return s.forged(op, opts...)
}

// Floods of 100 packets, 20 times and more, while the bystander works. Each is counted
// under the rule that says what it was; what is answered is less than what came.
func TestFloods(t *testing.T) {
	const volley, rounds = 100, 20
	type flood struct {
		one     func(s *siege) packet
		before  func(s *siege) // what the victim has done or suffered before
		ordered bool           // each packet is the next one
		first   int            // unless 0: all volleys are the same packets in order, from here on
		rule    transport.Rule // none: all are dropped but the first ones
		answers int            // at most, in all; -1: at most one for each packet
		check   func(t *testing.T, s *siege, received int)
	}
	ill := func(s *siege, edit func(p *packet)) packet {
		p := s.ask(bth.RCSendOnly, 0, bthtest.Pattern(8))
		edit(&p)
		return p
	}
	untouched := func(t *testing.T, s *siege, _ int) {
		require.Equal(t, make([]byte, bufferSize), s.victim.mr.Bytes(), "nothing is placed before its turn")
	}
	fail := func(s *siege) {
		s.ask(bth.RCWriteOnly, 0, bthtest.RETH(0, 1, 8), bthtest.Pattern(8)).fire()
		s.settle()
	}
	for name, f := range map[string]flood{
		"bad ICRC":           {one: func(s *siege) packet { return ill(s, func(p *packet) { p.data[len(p.data)-1] ^= 1 }) }, rule: transport.RuleICRC},
		"too short":          {one: func(s *siege) packet { return ill(s, func(p *packet) { p.data = p.data[:15] }) }, rule: transport.RuleShort},
		"no such queue pair": {one: func(s *siege) packet { return s.ask(bth.RCSendOnly, 0, bthtest.QP(0x123456)) }, rule: transport.RuleNoQP},
		"CNPs":               {one: func(s *siege) packet { return s.ask(bth.CNP, 0, bthtest.BECN) }, rule: transport.RuleCNPIgnored},
		"CNPs for nobody":    {one: func(s *siege) packet { return s.ask(bth.CNP, 0, bthtest.BECN, bthtest.QP(0x123456)) }, rule: transport.RuleNoQP},
		"for one in ERR":     {before: fail, one: func(s *siege) packet { return s.ask(bth.RCSendOnly, 0) }, rule: transport.RuleState, answers: 1},
		"answers to nothing": {one: func(s *siege) packet { return s.answer(bth.RCReadRespOnly, s.firstPSN(), bth.ACKUnlimited) }, rule: transport.RuleNothingAsked},
		"messages without a receive": {
			one:  func(s *siege) packet { return s.ask(bth.RCSendOnly, 0, bthtest.Pattern(8)) },
			rule: transport.RuleNotReady, answers: -1,
			check: func(t *testing.T, s *siege, received int) {
				s.victim.recv(1, 0, 64)
				s.ask(bth.RCSendOnly, 0, bthtest.Pattern(8)).fire()
				s.settle()
				require.Equal(t, 1, s.succeeded(s.victim), "the connection goes on")
			},
		},
		"behind a gap": {
			one:     func(s *siege) packet { return s.ask(bth.RCWriteOnly, 5, s.region(0, 8), bthtest.Pattern(8)) },
			answers: 1, check: untouched,
		},
		"behind a gap, each another": {
			one: func(s *siege) packet {
				return s.ask(bth.RCWriteOnly, 5, s.region(0, siegeMTU), bthtest.Pattern(siegeMTU))
			},
			first: 5, answers: 1, check: untouched,
		},
		"far ahead": {
			one:     func(s *siege) packet { return s.ask(bth.RCFetchAdd, 1<<23-1, s.word(0)) },
			answers: 1, check: untouched,
		},
		"old messages": {
			one:  func(s *siege) packet { return s.ask(bth.RCSendOnly, -1, bthtest.Pattern(siegeMTU)) },
			rule: transport.RuleDuplicateSend, answers: -1,
		},
		"old, with every PSN": {
			one:  func(s *siege) packet { return s.ask(bth.RCReadRequest, -1<<22, s.region(0, 8)) },
			rule: transport.RuleForgotten,
		},
		"empty WRITEs": {
			one:     func(s *siege) packet { return s.ask(bth.RCWriteOnly, 0, bthtest.RETH(0, 0xdeadbeef, 0)) },
			ordered: true, rule: transport.RuleInOrder, answers: -1,
			check: func(t *testing.T, s *siege, received int) {
				require.EqualValues(t, received, s.victim.qp.Stats().Writes)
			},
		},
		"empty READs": {
			one:     func(s *siege) packet { return s.ask(bth.RCReadRequest, 0, bthtest.RETH(0, 0xdeadbeef, 0)) },
			ordered: true, rule: transport.RuleInOrder, answers: -1,
		},
		"a replayed atomic": {
			before: func(s *siege) { s.ask(bth.RCFetchAdd, 0, s.word(16)).fire(); s.settle() },
			one:    func(s *siege) packet { return s.ask(bth.RCFetchAdd, 0, s.word(16)) },
			rule:   transport.RuleDuplicateAtomic, answers: -1,
			check: func(t *testing.T, s *siege, _ int) {
				require.EqualValues(t, 1, s.victim.mr.LoadUint64(16), "carried out once")
			},
		},
		"a replayed atomic, long forgotten": {
			before: func(s *siege) {
				for i := range 20 { // resources for 16
					s.ask(bth.RCFetchAdd, i, s.word(16)).fire()
					s.settle()
				}
			},
			one:  func(s *siege) packet { return s.ask(bth.RCFetchAdd, 0, s.word(16)) },
			rule: transport.RuleForgotten, answers: 20,
			check: func(t *testing.T, s *siege, _ int) { require.EqualValues(t, 20, s.victim.mr.LoadUint64(16)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t)
			if f.before != nil {
				f.before(s)
			}
			packets := repeated(volley, f.one(s))
			if f.first > 0 {
				inOrder(packets, enemyPSN.Add(uint32(f.first)))
			}
			psn, received := enemyPSN, 0
			s.under(rounds, func() {
				if f.ordered {
					psn = inOrder(packets, psn)
				}
				fire(packets...)
				received += volley
			})
			if f.rule == transport.RuleNone {
				require.GreaterOrEqual(t, s.tally.done[transport.Dropped], received-volley)
			} else {
				require.GreaterOrEqual(t, s.tally.rules[f.rule], received-1, "counted as %q", f.rule)
			}
			if f.answers < 0 {
				f.answers = received + 20
			}
			require.LessOrEqual(t, s.tally.sent, f.answers)
			if f.check != nil {
				f.check(t, s, received)
			}
			s.business()
			s.unconcerned()
		})
	}
}

// One READ of 1 MiB and a thousand duplicates of it, 16 bytes of question each: the wire
// bounds what is answered, and the bystander gets its turn behind one full ring each time
// that it needs one. In the end the enemy has its data, and the connection is whole.
func TestReadsAskedForAThousandTimes(t *testing.T) {
	s := newSiege(t)
	big, err := s.victim.pd.RegMR(make([]byte, 1<<20), roce.AccessRemoteRead)
	require.NoError(t, err)
	r := big.Remote()
	read := s.ask(bth.RCReadRequest, 0, bthtest.RETH(r.Addr, uint32(r.Key), r.Len))
	packet := wireTime(siegeMTU + bth.BTHLen + 4 + wire.ICRCLen)
	ring := simnet.DefaultQueue * packet
	began := s.world.Now()
	var longest time.Duration
	volley, rounds := repeated(50, read), 20
	if testenv.Race {
		rounds = 4 // it counts the same, slowly
	}
	for range rounds {
		fire(volley...)
		longest = max(longest, s.business())
		s.deafen()
	}
	took := s.world.Now().Sub(began)
	t.Logf("the bystander's business took %v at most, %v without; %d packets answered in %v", longest, s.quiet, s.tally.sent, took)
	require.LessOrEqual(t, longest, s.quiet+4*ring)
	require.LessOrEqual(t, s.tally.sent, int(took/packet)+2*simnet.DefaultQueue, "no more than the wire takes")
	s.unconcerned()

	last := 0
	for limit := s.world.Now().Add(10 * time.Millisecond); s.world.Now() < limit; s.settle() {
		for _, p := range s.heard() {
			last = int(p.PSN.Diff(enemyPSN))
		}
	}
	require.Equal(t, 1023, last, "the answer comes to its end")
	s.ask(bth.RCWriteOnly, 1024, s.region(0, 8), bthtest.Pattern(8)).fire()
	s.settle()
	require.Equal(t, []string{"RC Acknowledge 1024 ACK"}, s.answers())
}

// A flood of READs beyond what was agreed ends the enemy's connection with the first that
// is too many; what it asked for before that is still bounded by it.
func TestReadsBeyondTheLimit(t *testing.T) {
	s := newSiege(t)
	packets := repeated(200, s.ask(bth.RCReadRequest, 0, s.region(0, bufferSize)))
	for i, p := range packets {
		inOrder([]packet{p}, enemyPSN.Add(uint32(i)*bufferSize/siegeMTU))
	}
	fire(packets...)
	s.business()
	for range 20 {
		s.settle()
		s.deafen()
	}
	require.Equal(t, 1, s.tally.rules[transport.RuleTooManyReads])
	const most = 16 + 2*simnet.DefaultQueue*siegeMTU/bufferSize // 16, and those whose answers the link had room for
	require.LessOrEqual(t, s.tally.rules[transport.RuleInOrder], most)
	require.LessOrEqual(t, s.tally.sent, most*bufferSize/siegeMTU+1)
	require.Equal(t, roce.StateErr, s.victim.qp.State())
	s.unconcerned()
}
