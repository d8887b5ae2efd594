package roce_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/wire"
)

// BenchmarkStages is for the question where the time goes (E13): WRITEs of 64 KiB over
// the loopback interface, 16 under way, on one to eight queue pairs at two path MTUs;
// and what the ICRCs of as many bytes take, which are made at one end and checked at
// the other. The difference of the two is what a stack without ICRC would take; the
// other stages are in the CPU profile of a WRITE (docs/links.md).
func BenchmarkStages(b *testing.B) {
	for _, mtu := range []int{1024, 4096} {
		for _, qps := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("WRITE/%d/%d", mtu, qps), func(b *testing.B) { writeOnQPs(b, mtu, qps) })
		}
		b.Run(fmt.Sprintf("ICRC/%d", mtu), func(b *testing.B) { makeAndCheckICRCs(b, mtu) })
	}
}

const stageSize = 64 * kib // of a WRITE

func writeOnQPs(b *testing.B, mtu, qps int) {
	x, y := newBenchEnd(b, loopback(b), depth*stageSize, depth), newBenchEnd(b, loopback(b), depth*stageSize, depth)
	sources := connectMany(b, x, y, qps, roce.WithPathMTU(mtu))
	fill(x.mr.Bytes(), 1)
	b.SetBytes(stageSize)
	b.ReportAllocs()
	// The work with a number is always posted on the same queue pair.
	request := func(id uint64) {
		at := int(id) * stageSize
		remote := y.mr.Remote().Slice(at, stageSize)
		_, err := sources[int(id)%qps].PostSend(roce.SendWR{ID: id, Op: roce.OpWrite, SGE: x.mr.SGE(at, stageSize),
			Flags: roce.Signaled, RemoteAddr: remote.Addr, RKey: remote.Key})
		must(err)
	}
	for id := range uint64(depth) {
		request(id)
	}
	wc := make([]roce.WC, depth)
	ready := 0
	for b.Loop() {
		if ready == 0 {
			ready = reapGood(b, x, wc, wait)
		}
		ready--
		request(wc[ready].ID)
	}
	for left := depth - ready; left > 0; {
		left -= reapGood(b, x, wc, wait)
	}
	requireSame(b, x, y)
}

// connectMany connects as many queue pairs of two ends as asked for.
func connectMany(b *testing.B, x, y *end, n int, opts ...roce.ConnectOption) (sources []*roce.QP) {
	b.Helper()
	for range n {
		var ends [2]*roce.QP
		for i, e := range []*end{x, y} {
			var err error
			ends[i], err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: depth, RecvDepth: 1})
			require.NoError(b, err)
		}
		require.NoError(b, ends[0].Connect(ends[1].Info(), opts...))
		require.NoError(b, ends[1].Connect(ends[0].Info(), opts...))
		sources = append(sources, ends[0])
	}
	return sources
}

// makeAndCheckICRCs does for 64 KiB what the two ends of a WRITE do for its ICRCs.
func makeAndCheckICRCs(b *testing.B, mtu int) {
	flow := wire.MakeFlow(loopbackPlace.addr, loopbackPlace.addr, wire.Port, wire.DontFragment)
	packet := make([]byte, bth.BTHLen+mtu+wire.ICRCLen)
	head, body, tail := packet[:bth.BTHLen], [][]byte{packet[bth.BTHLen:][:mtu]}, packet[bth.BTHLen+mtu:]
	b.SetBytes(stageSize)
	b.ReportAllocs()
	for b.Loop() {
		for range stageSize / mtu {
			flow.Seal(0, head, body, tail)
			if !flow.Verify(0, [2][]byte{packet}) {
				b.Fatal("the ICRC that was made is not right")
			}
		}
	}
}
