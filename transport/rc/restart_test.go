package rc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/transport"
)

// restartPackets are those of the READ that is restarted.
const (
	restartPackets = 6
	restartLen     = 5*testMTU + 11
)

// readOpcodeAt is the opcode of a packet of READ data by its place among all, as of a
// responder that goes on with the original sequence (rdma_rxe).
func readOpcodeAt(i int) bth.Opcode {
	switch i {
	case 0:
		return bth.RCReadRespFirst
	case restartPackets - 1:
		return bth.RCReadRespLast
	}
	return bth.RCReadRespMiddle
}

// TestReadRestartAnywhere proves 9.7.5.1.4 for every pair of losses: packet i of a READ's
// data is lost, and packet j of what is sent again. The rest is asked for each time from the
// first missing byte, at its PSN, by a request that has no other; the answer may begin
// anew with First or go on with Middle; the data is whole. A timeout is waited for only where
// nothing behind the gap shows it, or the same packet is lost again (R04).
func TestReadRestartAnywhere(t *testing.T) {
	for _, form := range []string{"begins anew", "goes on"} {
		for i := range restartPackets {
			for j := i; j < restartPackets; j++ {
				t.Run(fmt.Sprintf("%s, %d, %d", form, i, j), func(t *testing.T) {
					o := defaults()
					o.psnA = 0xfffffe
					p := newPair(t, o)
					want := p.b.fill(0, restartLen, byte(i+j))
					p.a.post(p.ask(qp.OpRead, 0, restartLen))
					data := p.b.say(p.a.next())
					for _, lost := range []int{i, j} {
						for _, pkt := range data {
							at := int(pkt.PSN.Diff(o.psnA))
							if form == "goes on" {
								pkt.Opcode = readOpcodeAt(at)
							}
							if at != lost {
								p.a.recv(pkt)
							}
						}
						data = p.b.say(p.restarted(lost, o.psnA))
					}
					p.a.hear(data...)
					p.a.requireSends(ok(1)...)
					require.Equal(t, want, p.a.snapshot(0, restartLen))
					require.EqualValues(t, 2, p.a.m.Stats().Retransmitted)
					timeouts := uint64(0)
					for _, needed := range []bool{i == restartPackets-1, j == restartPackets-1 || j == i} {
						if needed {
							timeouts++
						}
					}
					require.LessOrEqual(t, p.a.m.Stats().Timeouts, timeouts)
				})
			}
		}
	}
}

// restarted is the request for the rest of the READ from packet i on, made at once or after
// the timeout.
func (p *pair) restarted(i int, first bth.PSN) *packet {
	p.t.Helper()
	again := p.a.drain()
	if len(again) == 0 {
		p.advance(p.a)
		again = p.a.drain()
	}
	require.Len(p.t, again, 1)
	off := i * testMTU
	require.Equal(p.t, bth.RCReadRequest, again[0].Opcode)
	require.Equal(p.t, first.Add(uint32(i)), again[0].PSN)
	require.Equal(p.t, bth.RETH{VA: p.b.addr(off), RKey: uint32(p.b.mem.RKey()), Len: uint32(restartLen - off)}, again[0].RETH)
	return again[0]
}

// TestReadRestartMeetsTheFirstAnswer proves that the rest of the first answer and the answer
// to the restart may both arrive, in request order: what comes in place is taken, the second
// of everything is ignored, and no third request is made.
func TestReadRestartMeetsTheFirstAnswer(t *testing.T) {
	for _, form := range []string{"begins anew", "goes on"} {
		p := newPair(t, defaults())
		want := p.b.fill(0, restartLen, 9)
		p.a.post(p.ask(qp.OpRead, 0, restartLen))
		data := p.b.say(p.a.next())
		p.a.hear(data[:2]...)
		p.advance(p.a) // the others are late, not lost
		again := p.b.say(p.restarted(2, 100))
		if form == "goes on" {
			for i, pkt := range again {
				pkt.Opcode = readOpcodeAt(2 + i)
			}
		}
		p.a.hear(data[2:]...)
		p.a.requireSends(ok(1)...)
		for _, pkt := range again {
			require.Equal(t, transport.Ignored, p.a.recv(pkt).Action)
		}
		require.Empty(t, p.a.drain())
		require.Equal(t, want, p.a.snapshot(0, restartLen))
	}
}

// TestReadRestartRepeatsWhatIsBehind proves that READs and atomics behind a lost answer are
// asked for again unchanged, and brought once (9.7.5.1.4).
func TestReadRestartRepeatsWhatIsBehind(t *testing.T) {
	p := newPair(t, defaults())
	want := p.b.fill(0, 20000, 3)
	was := p.b.word(30000)
	p.a.post(p.ask(qp.OpRead, 0, restartLen))
	p.a.post(p.ask(qp.OpFetchAdd, 30000, 8))
	p.a.post(p.ask(qp.OpRead, 10000, 2000))
	sent := p.a.drain()
	answers := p.b.say(sent...)
	p.a.hear(answers[:3]...)
	p.a.hear(answers[4:]...)
	again := p.a.drain()
	require.Equal(t, []bth.PSN{103, 106, 107}, psnsOf(again))
	require.Equal(t, sent[1].Packet, again[1].Packet)
	require.Equal(t, sent[2].Packet, again[2].Packet)
	p.a.hear(p.b.say(again...)...)
	p.a.requireSends(ok(3)...)
	require.Equal(t, want[:restartLen], p.a.snapshot(0, restartLen))
	require.Equal(t, want[10000:12000], p.a.snapshot(10000, 2000))
	require.Equal(t, was+1, p.b.word(30000))
	require.Equal(t, was, p.a.word(30000))
}
