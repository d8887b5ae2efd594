package roce_test

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/simnet"
)

// manyQPs is how many queue pairs one device has here.
func manyQPs() int {
	if testenv.Race {
		return 1000
	}
	return 10_000
}

// crowd is two devices with many queue pairs each, connected one to one.
type crowd struct {
	world *simnet.World
	a, b  *end
	qps   [2][]*roce.QP
	index map[uint32]int // of a's, by QPN
}

func newCrowd(t testing.TB, n int, cfg roce.QPConfig, opts ...simnet.LinkOption) *crowd {
	t.Helper()
	w := simnet.New(1)
	c := &crowd{world: w, index: make(map[uint32]int)}
	c.a = newEndOn(t, w, w.Link("a", netip.MustParseAddr("10.0.0.1"), opts...), roce.QPConfig{})
	c.b = newEndOn(t, w, w.Link("b", netip.MustParseAddr("10.0.0.2"), opts...), roce.QPConfig{})
	for side, e := range []*end{c.a, c.b} {
		var err error
		cfg.SendCQ, err = e.dev.CreateCQ(4 * n)
		require.NoError(t, err)
		e.cq = cfg.SendCQ
		for range n {
			q, err := e.pd.CreateQP(cfg)
			require.NoError(t, err)
			c.qps[side] = append(c.qps[side], q)
		}
	}
	for i := range n {
		require.NoError(t, c.qps[0][i].Connect(c.qps[1][i].Info()))
		require.NoError(t, c.qps[1][i].Connect(c.qps[0][i].Info()))
		c.index[c.qps[0][i].QPN()] = i
	}
	return c
}

// TestMemoryPerQP measures what queue pairs of default depth take, and holds the table
// of docs/architecture.md against it, which is of 64-bit systems.
func TestMemoryPerQP(t *testing.T) {
	n, few := manyQPs(), 500
	w := simnet.New(1)
	one := newEnd(t, w, "one", "10.0.0.1", roce.QPConfig{})
	e := newEnd(t, w, "many", "10.0.0.2", roce.QPConfig{})
	qps := make([]*roce.QP, n)

	per := func(n int, do func(q *roce.QP)) float64 {
		before := heapInUse()
		for i := range n {
			if qps[i] == nil {
				var err error
				qps[i], err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq})
				require.NoError(t, err)
			}
			do(qps[i])
		}
		return float64(heapInUse()-before) / float64(n) / 1024
	}
	got := make(map[string]float64)
	got["connected, nothing posted yet"] = per(n, func(q *roce.QP) { require.NoError(t, q.Connect(one.qp.Info())) })
	got["its first receive adds"] = per(few, func(q *roce.QP) {
		_, err := q.PostRecv(roce.RecvWR{SGE: e.mr.SGE(0, 8)})
		require.NoError(t, err)
	})
	send := func(flags roce.SendFlags) func(q *roce.QP) {
		return func(q *roce.QP) {
			_, err := q.PostSend(roce.SendWR{Op: roce.OpSend, SGE: e.mr.SGE(0, 8), Flags: flags})
			require.NoError(t, err)
		}
	}
	got["its first send adds"] = per(few, send(0))
	got["its first inline send adds"] = per(few, send(roce.Inline))
	runtime.KeepAlive(qps)

	page, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	for what, kib := range got {
		t.Logf("%s: %.1f KiB", what, kib)
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(what) + ` \| ([\d.]+) \|$`).FindSubmatch(page)
		require.NotNil(t, row, "docs/architecture.md has no row %q", what)
		stated, err := strconv.ParseFloat(string(row[1]), 64)
		require.NoError(t, err)
		if testenv.Race {
			continue // the race detector's own bytes count too
		}
		require.Less(t, kib, 1.1*stated, "%q", what)
		if strconv.IntSize != 64 {
			continue
		}
		require.InEpsilon(t, stated, kib, 0.1, "docs/architecture.md says %v KiB for %q", stated, what)
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers freed
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyQPsComeAndGo makes and closes many queue pairs several times: memory comes
// back, and so does every number.
func TestManyQPsComeAndGo(t *testing.T) {
	e := newEnd(t, simnet.New(1), "a", "10.0.0.1", roce.QPConfig{})
	round := func() {
		qps := make([]*roce.QP, manyQPs())
		for i := range qps {
			var err error
			qps[i], err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq})
			require.NoError(t, err)
		}
		for _, q := range qps {
			require.NoError(t, q.Close())
		}
	}
	round()
	before := heapInUse()
	for range 3 {
		round()
	}
	require.InDelta(t, before, heapInUse(), 1<<20, "closed queue pairs keep memory")
}

// TestManyQPsShareTheLink keeps all of many queue pairs busy on a link that is slow for
// them. Most have small messages, each hundredth has large ones without end. Everybody
// gets a turn, and nobody more of them than others.
func TestManyQPsShareTheLink(t *testing.T) {
	const small, large, under = 64, 4 << 10, 2
	n := manyQPs()
	c := newCrowd(t, n, roce.QPConfig{SendDepth: under, RecvDepth: 1}, simnet.Bandwidth(10e9), simnet.Queue(32))
	isLarge := func(i int) bool { return i%100 == 99 }
	write := func(i int) {
		size := small
		if isLarge(i) {
			size = large
		}
		r := c.b.mr.Remote().Slice(0, size)
		_, err := c.qps[0][i].PostSend(roce.SendWR{
			Op: roce.OpWrite, SGE: c.a.mr.SGE(0, size), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled,
		})
		require.NoError(t, err)
	}
	for i := range n {
		for range under {
			write(i)
		}
	}
	counts, total := make([]int, n), 0
	wcs := make([]roce.WC, 256)
	err := c.world.RunUntil(func() bool {
		for k := c.a.cq.Poll(wcs); k > 0; k = c.a.cq.Poll(wcs) {
			for _, wc := range wcs[:k] {
				require.NoError(t, wc.Err())
				i := c.index[wc.QPN]
				counts[i]++
				total++
				write(i)
			}
		}
		return total >= 10*n
	}, c.world.Now().Add(time.Hour))
	require.NoError(t, err)
	var smalls, larges []int
	for i, k := range counts {
		if isLarge(i) {
			larges = append(larges, k)
		} else {
			smalls = append(smalls, k)
		}
	}
	t.Logf("%d messages in %v: small ones %d to %d per queue pair, large ones %d to %d", total, c.world.Now(),
		slices.Min(smalls), slices.Max(smalls), slices.Min(larges), slices.Max(larges))
	require.LessOrEqual(t, slices.Max(smalls)-slices.Min(smalls), under, "some get more turns than others")
	require.LessOrEqual(t, slices.Max(larges)-slices.Min(larges), under, "some get more turns than others")
	require.NotZero(t, slices.Min(larges))
}

// BenchmarkAmongQPs is a message of 64 bytes and its acknowledgement, from the post to
// the completions, on devices with one queue pair, and with 10,000 that are connected
// and idle beside it. It is the same but for what the processor's caches make of it:
//
//	go test -run '^$' -bench AmongQPs -count 10 . | benchstat -col /QPs -
func BenchmarkAmongQPs(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("QPs=%d", n), func(b *testing.B) {
			c := newCrowd(b, n, roce.QPConfig{})
			// One in the middle: the page of its number is full of others.
			x, y := c.a, c.b
			x.qp, y.qp = c.qps[0][n/2], c.qps[1][n/2]
			send := []roce.SendWR{{Op: roce.OpSend, SGE: x.mr.SGE(0, smallSize), Flags: roce.Signaled}}
			receive := roce.RecvWR{SGE: y.mr.SGE(0, smallSize)}
			wc := make([]roce.WC, 4)
			sent, received := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				_, err := y.qp.PostRecv(receive)
				must(err)
				post(x, send)
				x.dev.Poll()
				cross(c.world)
				received += reapGood(b, y, wc, pollOnce)
				sent += reapGood(b, x, wc, pollOnce)
			}
			require.Equal(b, b.N, sent)
			require.Equal(b, b.N, received)
		})
	}
}
