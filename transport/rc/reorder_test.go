package rc_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/transport/rc"
)

// holding gives a host memory for requests that come before their turn.
func holding(c *rc.Config) { holdingIn(rc.NewReorderPool(1 << 20))(c) }

func holdingIn(pool *rc.ReorderPool) func(*rc.Config) {
	return func(c *rc.Config) { c.Reorder = pool }
}

// holdingPair is two hosts of which B holds, and the pool that it holds in.
func holdingPair(t *testing.T, o options) (*pair, *rc.ReorderPool) {
	pool := rc.NewReorderPool(1 << 20)
	return newPair(t, o, holdingIn(pool)), pool
}

// messages has A send n messages of eight bytes, for which B has receives, and returns
// the packets.
func (p *pair) messages(n int) []*packet {
	p.t.Helper()
	for i := range n {
		p.a.fill(8*i, 8, byte(i+1))
		p.b.postRecv(uint64(i), 8*i, 8)
		p.a.post(qp.SendWR{ID: uint64(i), Op: qp.OpSend, SGE: p.a.sge(8*i, 8)})
	}
	pkts := p.a.drain()
	require.Len(p.t, pkts, n)
	return pkts
}

func (p *pair) write(n int) qp.SendWR {
	return qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, n), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()}
}

// gives gives the host packets, and returns the last verdict.
func (h *host) gives(pkts ...*packet) (v transport.Verdict) {
	for _, p := range pkts {
		v = h.recv(p)
	}
	return v
}

// TestHoldAndDrain proves that requests behind a gap are held, of which nothing is placed,
// with one NAK (9.7.5.2.1); and that they are executed in order when the gap is filled,
// which one acknowledgement says (9.7.5.1.2).
func TestHoldAndDrain(t *testing.T) {
	p, pool := holdingPair(t, defaults())
	pkts := p.messages(6)
	p.b.gives(pkts[:2]...)
	require.Equal(t, transport.Verdict{Action: transport.Held, Rule: transport.RuleGap, PSN: 102}, p.b.recv(pkts[3]))
	require.Equal(t, transport.Verdict{Action: transport.Held, Rule: transport.RuleHeld, PSN: 102}, p.b.recv(pkts[4]))
	p.b.recv(pkts[5])
	answers := p.b.drain()
	require.Len(t, answers, 2)
	require.Equal(t, "RC Acknowledge(101 ACK MSN 2 0 B)", answers[0].String())
	require.Equal(t, bth.AETH{Syndrome: bth.NAKSequence, MSN: 2}, answers[1].AETH)
	require.Equal(t, bth.PSN(102), answers[1].PSN)
	p.b.requireRecvs(ok(2)...)
	require.Equal(t, make([]byte, 32), p.b.snapshot(16, 32), "nothing is placed early")
	require.Equal(t, 3*512, pool.Used())

	v := p.b.recv(pkts[2])
	require.Equal(t, transport.Verdict{Action: transport.Executed, Rule: transport.RuleFilled, PSN: 102, Behind: 3}, v)
	require.Equal(t, "executed: expected request; others were held until it came (PSN 102); executed with it: 3 held behind the gap", v.String())
	p.b.requireRecvs(ok(6)...)
	require.Equal(t, p.a.snapshot(0, 48), p.b.snapshot(0, 48))
	answers = p.b.drain()
	require.Len(t, answers, 1)
	require.Equal(t, "RC Acknowledge(105 ACK MSN 6 0 B)", answers[0].String())
	require.Zero(t, pool.Used())
}

// TestTwoGaps proves that a second gap is reported when a packet comes that does not fill
// it (9.7.5.2.1), once, and that packets may come in any order.
func TestTwoGaps(t *testing.T) {
	p, pool := holdingPair(t, defaults())
	pkts := p.messages(9)
	for _, i := range []int{0, 7, 2, 5, 6, 3} {
		p.b.recv(pkts[i])
	}
	p.b.drain()
	v := p.b.recv(pkts[1])
	require.Equal(t, uint16(2), v.Behind)
	require.Equal(t, transport.Verdict{Action: transport.Held, Rule: transport.RuleGap, PSN: 104}, p.b.recv(pkts[8]))
	answers := p.b.drain()
	require.Len(t, answers, 2)
	require.Equal(t, "RC Acknowledge(103 ACK MSN 4 0 B)", answers[0].String(), "the NAK says as much, unless a ghost is held")
	require.Equal(t, bth.NAKSequence, answers[1].AETH.Syndrome)
	require.Equal(t, bth.PSN(104), answers[1].PSN)
	require.Equal(t, transport.RuleHeldAgain, p.b.recv(pkts[5]).Rule)
	require.Empty(t, p.b.drain())
	p.b.recv(pkts[4])
	require.Equal(t, "RC Acknowledge(108 ACK MSN 9 0 B)", p.b.drain()[0].String())
	p.b.requireRecvs(ok(9)...)
	require.Zero(t, pool.Used())
}

// TestFilledOneByOne proves that a peer which sends a long gap again is not told of the
// rest of it with every packet: it would begin anew each time.
func TestFilledOneByOne(t *testing.T) {
	p, _ := holdingPair(t, defaults())
	pkts := p.messages(9)
	p.b.say(pkts[8])
	for i, pkt := range pkts[:8] {
		answers := p.b.say(pkt)
		require.Len(t, answers, 1)
		require.True(t, answers[0].AETH.Syndrome.IsACK(), "after packet %d", i)
	}
	p.b.requireRecvs(ok(9)...)
}

// TestHeldDuplicates proves that a peer that goes back all the way is acknowledged as
// ever, and that nothing is executed twice.
func TestHeldDuplicates(t *testing.T) {
	o := defaults()
	o.goBackN = true
	p, pool := holdingPair(t, o)
	pkts := p.messages(6)
	for _, i := range []int{0, 3, 4, 3, 4, 2} {
		p.b.recv(pkts[i])
	}
	require.Equal(t, 3*512, pool.Used())
	require.Equal(t, uint16(3), p.b.recv(pkts[1]).Behind)
	require.Equal(t, transport.RuleDuplicateSend, p.b.recv(pkts[3]).Rule)
	p.settle()
	p.a.requireSends(ok(6)...)
	p.b.requireRecvs(ok(6)...)
	require.Equal(t, p.a.snapshot(0, 48), p.b.snapshot(0, 48))
}

// TestHeldParts proves that parts of messages wait for their first packet, across the
// wrap of the PSN, and that the last one asks for the acknowledgement.
func TestHeldParts(t *testing.T) {
	o := defaults()
	o.psnA = 0xfffffe
	p, pool := holdingPair(t, o)
	const n = 3*testMTU + 5
	want := p.a.fill(0, n, 1)
	p.a.post(p.write(n))
	pkts := p.a.drain()
	p.b.gives(pkts[3], pkts[2], pkts[1])
	require.Equal(t, make([]byte, n), p.b.snapshot(0, n))
	require.Equal(t, 2*(256+1024)+512, pool.Used())
	require.Equal(t, uint16(3), p.b.recv(pkts[0]).Behind)
	require.Equal(t, want, p.b.snapshot(0, n))
	answers := p.b.drain()
	require.Len(t, answers, 1, "the NAK is no longer true")
	require.Equal(t, bth.PSN(1), answers[0].PSN)
}

// TestHeldRefused proves that a held request meets every check in its turn (9.7.4), and
// that a fatal one ends the connection there: what was before it is acknowledged by the
// NAK, what is behind it is dropped.
func TestHeldRefused(t *testing.T) {
	for rule, spoil := range map[transport.Rule]func(*packet){
		transport.RuleTooLong:  func(p *packet) { p.Payload[0] = make([]byte, 9); p.Pad = 3 },
		transport.RuleLength:   func(p *packet) { p.Pad = 1 },
		transport.RuleSequence: func(p *packet) { p.Opcode = bth.RCSendLast },
		transport.RuleKey:      func(p *packet) { p.Opcode = bth.RCWriteOnly; p.RETH = bth.RETH{RKey: 1, Len: 8} },
	} {
		t.Run(rule.String(), func(t *testing.T) {
			p, pool := holdingPair(t, defaults())
			pkts := p.messages(5)
			spoil(pkts[3])
			p.b.gives(pkts[2:]...)
			p.b.recv(pkts[0])
			p.b.drain()
			require.Equal(t, transport.Verdict{Action: transport.Failed, Rule: rule, PSN: 103, Behind: 1}, p.b.recv(pkts[1]))
			require.Equal(t, qp.StateErr, p.b.m.State())
			require.Zero(t, pool.Used())
			answers := p.b.drain()
			require.Len(t, answers, 1)
			require.Equal(t, bth.PSN(103), answers[0].PSN)
			require.Equal(t, ok(3), statuses(p.b.recvs)[:3])
		})
	}
}

func statuses(wcs []cq.WC) (list []cq.Status) {
	for _, wc := range wcs {
		list = append(list, wc.Status)
	}
	return list
}

// TestHeldUndefined proves that what can never be executed is not held.
func TestHeldUndefined(t *testing.T) {
	p, pool := holdingPair(t, defaults())
	for _, pkt := range []*packet{request(0x1f, 105, 0), request(bth.RCFlush, 105, 0), request(bth.RCSendOnly, 105, testMTU+4)} {
		require.NotEqual(t, transport.Held, p.b.recv(pkt).Action)
	}
	require.Zero(t, pool.Used())
}

// TestHeldNotReady proves that a held SEND without a receive has the peer wait, and that
// those behind it wait on (9.7.5.2.8). The gap is not reported besides.
func TestHeldNotReady(t *testing.T) {
	for _, shares := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%v", shares), func(t *testing.T) {
			shared := qp.NewSharedRecvQueue(16, 2)
			opts := []func(*rc.Config){holding, counting}
			if shares {
				opts = append(opts, func(c *rc.Config) { c.SharedRecv = shared })
			}
			p := newPair(t, defaults(), opts...)
			post := func(id uint64) {
				wr := qp.RecvWR{ID: id, SGE: p.b.sge(0, 8)}
				if shares {
					require.NoError(t, shared.Post(&wr))
				} else {
					require.NoError(t, p.b.rq.Post(&wr))
				}
			}
			post(0)
			post(1)
			for range 5 {
				p.a.post(qp.SendWR{Op: qp.OpSend, SGE: p.a.sge(0, 8)})
			}
			pkts := p.a.drain()
			p.b.gives(pkts[1:]...)
			p.b.drain()
			require.Equal(t, transport.Verdict{Action: transport.Refused, Rule: transport.RuleNotReady, PSN: 102, Behind: 1}, p.b.recv(pkts[0]))
			answers := p.b.drain()
			require.Equal(t, bth.RNRNAK(14), answers[len(answers)-1].AETH.Syndrome)
			require.Equal(t, bth.PSN(102), answers[len(answers)-1].PSN)
			if !shares {
				require.Equal(t, bth.ACKCredits(0), answers[0].AETH.Syndrome)
			}
			for id := range uint64(3) {
				post(2 + id)
			}
			require.Equal(t, transport.Verdict{Action: transport.Executed, Rule: transport.RuleFilled, PSN: 102, Behind: 2}, p.b.recv(pkts[2]))
			p.b.requireRecvs(ok(5)...)
		})
	}
}

// TestHeldReadAndAtomic proves that a READ sees what the WRITE before it wrote although it
// came first, and that answers leave in the order of the requests (9.5).
func TestHeldReadAndAtomic(t *testing.T) {
	p, _ := holdingPair(t, defaults())
	want := p.a.fill(0, 100, 3)
	p.a.post(p.write(100))
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(500, 100), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpFetchAdd, SGE: p.a.sge(600, 8), RemoteAddr: p.b.addr(800), RKey: p.b.mem.RKey(), Add: 5})
	pkts := p.a.drain()
	p.b.gives(pkts[2], pkts[1], pkts[2])
	require.Equal(t, make([]byte, 8), p.b.snapshot(800, 8))
	require.Equal(t, uint16(2), p.b.recv(pkts[0]).Behind)
	require.EqualValues(t, 5, binary.NativeEndian.Uint64(p.b.bytes(800, 8)))
	answers := p.b.drain()
	require.Equal(t, []bth.Opcode{bth.RCReadRespOnly, bth.RCAtomicAck}, []bth.Opcode{answers[0].Opcode, answers[1].Opcode})
	for _, a := range answers {
		p.a.recv(a)
	}
	p.a.requireSends(ok(3)...)
	require.Equal(t, want, p.a.snapshot(500, 100))
}

// TestHeldInsideRead proves that what lies among the PSNs of a READ's answer is dropped:
// those numbers are used up.
func TestHeldInsideRead(t *testing.T) {
	p, pool := holdingPair(t, defaults())
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 4*testMTU), RemoteAddr: p.b.addr(0), RKey: p.b.mem.RKey()})
	read := p.a.drain()[0]
	p.b.postRecv(1, 0, 8)
	p.b.postRecv(2, 0, 8)
	p.b.gives(request(bth.RCSendOnly, 102, 8), request(bth.RCSendOnly, 104, 8))
	require.Equal(t, uint16(1), p.b.recv(read).Behind)
	p.b.requireRecvs(ok(1)...)
	require.Zero(t, pool.Used())
}

// TestHeldInvalidate proves that a held SEND with invalidate waits until READs before it
// are answered by the key, and what is held behind it with it.
func TestHeldInvalidate(t *testing.T) {
	p, pool := holdingPair(t, defaults())
	b := p.b.bind(64)
	p.b.postRecv(1, 100, 8)
	p.a.post(qp.SendWR{Op: qp.OpRead, SGE: p.a.sge(0, 64), RemoteAddr: b.Base(), RKey: b.RKey()})
	p.a.post(qp.SendWR{Op: qp.OpSendInv, SGE: p.a.sge(0, 8), RKey: b.RKey()})
	p.a.post(p.write(8))
	pkts := p.a.drain()
	p.b.gives(pkts[1], pkts[2])
	p.b.sends = nil
	require.Equal(t, transport.RuleKeyInUse, p.b.recv(pkts[0]).Rule)
	require.True(t, p.b.isBound(b))
	answers := p.b.drain()
	require.Equal(t, []bth.Opcode{bth.RCReadRespOnly, bth.RCAcknowledge}, []bth.Opcode{answers[0].Opcode, answers[1].Opcode})
	require.Equal(t, uint16(1), p.b.recv(pkts[1]).Behind)
	require.False(t, p.b.isBound(b))
	require.Zero(t, pool.Used())
}

// TestHeldFreed proves that no way out of a connection leaves memory behind.
func TestHeldFreed(t *testing.T) {
	for name, leave := range map[string]func(h *host){
		"ERR":       func(h *host) { h.modify(qp.Attr{State: qp.StateErr}, qp.MaskState) },
		"RESET":     func(h *host) { h.modify(qp.Attr{State: qp.StateReset}, qp.MaskState) },
		"abandoned": func(h *host) { h.m.Abandon(transport.RuleCQOverflow) },
	} {
		t.Run(name, func(t *testing.T) {
			p, pool := holdingPair(t, defaults())
			p.b.gives(p.messages(6)[1:]...)
			require.NotZero(t, pool.Used())
			leave(p.b)
			require.Zero(t, pool.Used())
		})
	}
}
