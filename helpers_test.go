package roce_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/simnet"
)

const allRights = roce.AccessLocalWrite | roce.AccessRemoteWrite | roce.AccessRemoteRead | roce.AccessRemoteAtomic

// end is one device of a simulated pair, with one of everything.
type end struct {
	t   testing.TB
	dev *roce.Device
	pd  *roce.PD
	cq  *roce.CQ
	qp  *roce.QP
	mr  *roce.MR
}

// pair is two devices in manual mode on a simulated network.
type pair struct {
	t     testing.TB
	world *simnet.World
	a, b  *end
}

// bufferSize is the length of each end's region.
const bufferSize = 64 << 10

func newEnd(t testing.TB, w *simnet.World, name, addr string, cfg roce.QPConfig) *end {
	t.Helper()
	return newEndOn(t, w, w.Link(name, netip.MustParseAddr(addr)), cfg)
}

func newEndOn(t testing.TB, w *simnet.World, l *simnet.Link, cfg roce.QPConfig, opts ...roce.Option) *end {
	t.Helper()
	dev, err := roce.Open(l, append(opts, roce.Manual())...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	w.Attach(dev)
	e := &end{t: t, dev: dev}
	e.pd, err = dev.AllocPD()
	require.NoError(t, err)
	e.cq, err = dev.CreateCQ(256)
	require.NoError(t, err)
	e.mr, err = e.pd.RegMR(make([]byte, bufferSize), allRights)
	require.NoError(t, err)
	cfg.SendCQ = e.cq
	e.qp, err = e.pd.CreateQP(cfg)
	require.NoError(t, err)
	return e
}

// newUnconnected is a pair whose QPs are in RESET.
func newUnconnected(t testing.TB, cfg roce.QPConfig) *pair {
	t.Helper()
	w := simnet.New(1)
	return &pair{t: t, world: w, a: newEnd(t, w, "a", "10.0.0.1", cfg), b: newEnd(t, w, "b", "10.0.0.2", cfg)}
}

func newPair(t testing.TB, opts ...roce.ConnectOption) *pair {
	t.Helper()
	p := newUnconnected(t, roce.QPConfig{})
	require.NoError(t, p.a.qp.Connect(p.b.qp.Info(), opts...))
	require.NoError(t, p.b.qp.Connect(p.a.qp.Info(), opts...))
	return p
}

func (e *end) send(wrs ...roce.SendWR) {
	e.t.Helper()
	n, err := e.qp.PostSend(wrs...)
	require.NoError(e.t, err)
	require.Equal(e.t, len(wrs), n)
}

func (e *end) recv(id uint64, off, n int) {
	e.t.Helper()
	_, err := e.qp.PostRecv(roce.RecvWR{ID: id, SGE: e.mr.SGE(off, n)})
	require.NoError(e.t, err)
}

// wait runs the world until e has n completions.
func (p *pair) wait(e *end, n int) []roce.WC {
	p.t.Helper()
	out := make([]roce.WC, n)
	got := 0
	limit := p.world.Now().Add(10 * time.Minute)
	require.NoError(p.t, p.world.RunUntil(func() bool {
		got += e.cq.Poll(out[got:])
		return got == n
	}, limit))
	return out
}

// fill writes a pattern.
func fill(b []byte, seed int) []byte {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
	return b
}

// settle runs the world until nothing moves.
func (p *pair) settle() {
	p.t.Helper()
	require.NoError(p.t, p.world.Run(p.world.Now().Add(time.Second)))
}
