package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// A turn takes and sends no more than its bounds, however much there is of both: here
// 3,000 packets that wait, 16 of them READs of 64 KiB, and 64 WRITEs of 64 KiB posted. So
// timers, posts and Close get their turn.
func TestTurnsAreBounded(t *testing.T) {
	r := &rig{}
	r.pair = newLoosePair(t, withTap(r))
	r.meta = newRig(t).meta
	var psn uint32
	for i := range 3000 {
		read := i%200 == 0 && i < 3200
		data := r.packet(&r.meta, func(h *bth.Packet) {
			h.Opcode, h.PSN = bth.RCWriteOnly, r.qa.InitialPSN().Add(psn)
			psn++
			if read {
				h.Opcode = bth.RCReadRequest
				h.RETH = bth.RETH{VA: r.b.region.Base(), RKey: uint32(r.b.region.RKey()), Len: 1 << 16}
				psn += 63
			}
		}, nil)
		r.la.Inject(r.meta, data)
	}
	for range 64 {
		post(t, r.qb, qp.SendWR{Op: qp.OpWrite, SGE: r.b.sge(0, 1<<16)})
	}
	r.arrive(t)
	before, turns := r.b.shard.Counters(), 0
	for r.b.shard.Poll() {
		turns++
		c := r.b.shard.Counters()
		require.LessOrEqual(t, c.RxPackets-before.RxPackets, uint64(rxPackets+rxBatch-1))
		require.LessOrEqual(t, c.RxBytes-before.RxBytes, uint64(rxBytes+rxBatch*4200))
		require.LessOrEqual(t, c.TxPackets-before.TxPackets, uint64(txPackets+quantumPackets+1))
		before = c
		require.Less(t, turns, 1000)
	}
	require.EqualValues(t, 3000, before.RxPackets)
	require.GreaterOrEqual(t, turns, 3000/(rxPackets+rxBatch))
}
