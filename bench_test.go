package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/link"
)

// The benchmarks of this package are what docs/perf.md shows (make perf). Each
// counts what arrived, or compares memory at the end: a number for work that was
// not done is worth nothing. Beside each stands a baseline that does the like with
// plain sockets, so that numbers can be read as ratios on any machine.

const (
	// listSize is how many requests are posted at once where that is more than one.
	listSize = 32
	// smallSize is the length of a small message in bytes.
	smallSize = 64
)

// newBenchEnd is a device on a link with one of everything; its region has size bytes,
// its queues depth requests.
func newBenchEnd(b *testing.B, l link.Link, size, depth int, opts ...roce.Option) *end {
	b.Helper()
	dev, err := roce.Open(l, opts...)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	e := &end{t: b, dev: dev}
	e.pd, err = dev.AllocPD()
	require.NoError(b, err)
	e.cq, err = dev.CreateCQ(2 * depth)
	require.NoError(b, err)
	e.mr, err = e.pd.RegMR(make([]byte, size), allRights)
	require.NoError(b, err)
	e.qp, err = e.pd.CreateQP(roce.QPConfig{SendCQ: e.cq, SendDepth: depth, RecvDepth: depth})
	require.NoError(b, err)
	return e
}

// connected connects two ends.
func connected(x, y *end) (*end, *end) {
	require.NoError(x.t, x.qp.Connect(y.qp.Info()))
	require.NoError(y.t, y.qp.Connect(x.qp.Info()))
	return x, y
}

// must ends everything if there is an error. Fatal would not do: it is for the
// benchmark's goroutine alone, which would wait for ever for another one that failed.
// Besides, what tests do to name the line that failed takes a microsecond.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// post posts sends.
func post(e *end, wrs []roce.SendWR) {
	_, err := e.qp.PostSend(wrs...)
	must(err)
}

// reaper gets completions from a CQ, at least one.
type reaper func(b *testing.B, c *roce.CQ, wc []roce.WC) int

// reapGood takes completions of successful work only.
func reapGood(b *testing.B, e *end, wc []roce.WC, reap reaper) int {
	n := reap(b, e.cq, wc)
	for i := range wc[:n] {
		must(wc[i].Err())
	}
	return n
}
