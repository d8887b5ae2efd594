package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// TestMSNOfEveryMessage proves 9.7.7.1, and R16 for its whole kind: the MSN moves with the
// last packet of every message, whether or not that took a receive; earlier packets are
// acknowledged with the count before; of a READ all packets have the count with it; NAKs
// move nothing.
func TestMSNOfEveryMessage(t *testing.T) {
	p := newPair(t, defaults())
	key := uint32(p.b.bind(64).RKey())
	for i := range 5 {
		p.b.postRecv(uint64(i), 0, 4*testMTU)
	}
	long := func(op bth.Opcode, n int) *packet { return withRETH(request(op, 0, n), 3*testMTU) }
	inv := request(bth.RCSendOnlyInv, 0, 4)
	inv.IETH = key
	psn := bth.PSN(100)
	for i, step := range []struct {
		pkt  *packet
		psns uint32
		want []uint32
	}{
		{long(bth.RCWriteFirst, testMTU), 1, []uint32{0}},
		{long(bth.RCWriteMiddle, testMTU), 1, []uint32{0}},
		{long(bth.RCWriteLast, testMTU), 1, []uint32{1}},
		{withRETH(request(bth.RCReadRequest, 0, 0), 3*testMTU), 3, []uint32{2, 2, 2}},
		{request(bth.RCCompareSwap, 0, 0), 1, []uint32{3}},
		{request(bth.RCFetchAdd, 0, 0), 1, []uint32{4}},
		{request(bth.RCSendFirst, 0, testMTU), 1, []uint32{4}},
		{request(bth.RCSendMiddle, 0, testMTU), 1, []uint32{4}},
		{request(bth.RCSendLastImm, 0, 9), 1, []uint32{5}},
		{request(bth.RCSendOnly, 0, 9), 1, []uint32{6}},
		{inv, 1, []uint32{7}},
		{request(bth.RCWriteOnlyImm, 0, 9), 1, []uint32{8}},
		{withRETH(request(bth.RCWriteFirst, 0, testMTU), testMTU+5), 1, []uint32{8}},
		{request(bth.RCWriteLastImm, 0, 5), 1, []uint32{9}},
		{request(bth.RCWriteOnly, 0, 0), 1, []uint32{10}},
		{request(bth.RCReadRequest, 0, 0), 1, []uint32{11}},
		{request(bth.RCSendOnly, 0, 4), 0, []uint32{11}}, // RNR NAK: its PSN comes again
		{request(bth.RCWriteOnly, 0, 4), 1, []uint32{12}},
		{request(0x1f, 0, 0), 1, []uint32{12}}, // fatal NAK
	} {
		step.pkt.PSN = psn
		psn = psn.Add(step.psns)
		var got []uint32
		for _, answer := range p.b.say(p.b.onto(step.pkt)) {
			if answer.Opcode.Is(bth.HasAETH) {
				got = append(got, answer.AETH.MSN)
			} else {
				got = append(got, step.want[0]) // a Middle of READ data carries none
			}
		}
		require.Equal(t, step.want, got, "step %d, %s", i, step.pkt.Opcode)
	}
	require.Len(t, p.b.recvs, 5)
	require.Equal(t, qp.StateErr, p.b.m.State())
}

// TestMSNOfGapAndDuplicates proves that NAKs for a gap and answers to duplicates carry
// today's count, not that of the packet they speak of.
func TestMSNOfGapAndDuplicates(t *testing.T) {
	p := newPair(t, defaults())
	requests := []*packet{
		request(bth.RCWriteOnly, 100, 4), withRETH(request(bth.RCReadRequest, 101, 0), 8), request(bth.RCFetchAdd, 102, 0), request(bth.RCWriteOnly, 103, 4),
	}
	for _, r := range requests {
		p.b.say(p.b.onto(r))
	}
	for _, r := range requests {
		again := p.b.say(r)
		require.Len(t, again, 1)
		require.EqualValues(t, 4, again[0].AETH.MSN, "%s", r.Opcode)
	}
	nak := p.b.say(request(bth.RCWriteOnly, 110, 0))
	require.Equal(t, bth.AETH{Syndrome: bth.NAKSequence, MSN: 4}, nak[0].AETH)
}
