package engine

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

const (
	testPD    mr.PD = 1
	allAccess       = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic
)

// side is a shard with one region and any number of QPs.
type side struct {
	t      testing.TB
	shard  *Shard
	link   link.Link
	memory *mr.Table
	region *mr.Region
	cq     *CQ

	timeout     uint8 // code of the acknowledgement timeout
	closeInTest bool  // the test closes the shard itself
}

type option func(*Config)

func withTap(tap trace.Tap) option { return func(c *Config) { c.Tap = tap } }
func withMode(m Mode) option       { return func(c *Config) { c.Mode = m } }

func newSide(t testing.TB, l link.Link, opts ...option) *side {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(l.Addrs()[0].As16()[15]))).Uint64
	cfg := Config{Link: l, Memory: mr.NewTable(rnd), Mode: Manual, Rand: rnd}
	for _, o := range opts {
		o(&cfg)
	}
	s := &side{t: t, shard: New(cfg), link: l, memory: cfg.Memory}
	buf := make([]byte, 1<<16)
	region, err := s.memory.Register(testPD, buf, mr.Address(buf), allAccess)
	require.NoError(t, err)
	s.region, s.timeout = region, 14
	s.cq = s.shard.NewCQ(256, nil)
	t.Cleanup(func() {
		if !s.closeInTest {
			require.NoError(t, s.shard.Close())
		}
	})
	return s
}

func (s *side) qp() *QP {
	s.t.Helper()
	return s.qpWith(nil)
}

func (s *side) qpWith(d *DCQCN) *QP {
	s.t.Helper()
	q, err := s.shard.NewQP(QPConfig{
		PD: testPD, SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 64, RecvDepth: 64, MaxSGE: 4, MaxInline: 64, DCQCN: d,
	})
	require.NoError(s.t, err)
	return q
}

// connect brings q to RTS towards peer.
func (s *side) connect(q, peer *QP) {
	s.t.Helper()
	path := &wire.Path{Src: s.link.Addrs()[0], Dst: peer.shard.link.Addrs()[0], SrcPort: wire.SourcePort(q.QPN(), peer.QPN())}
	require.NoError(s.t, s.link.Resolve(path))
	path.Prepare()
	steps := []struct {
		a qp.Attr
		m qp.Mask
	}{
		{qp.Attr{State: qp.StateInit, PKey: bth.DefaultPKey, Access: allAccess}, qp.MaskPKey | qp.MaskAccess},
		{qp.Attr{
			State: qp.StateRTR, PathMTU: 1024, DestQPN: peer.QPN(), DestAddr: path.Dst, RQPSN: peer.InitialPSN(),
			MaxDestRdAtomic: 16, MinRNRTimer: 12,
		}, qp.MaskPathMTU | qp.MaskDestQPN | qp.MaskAV | qp.MaskRQPSN | qp.MaskMaxDestRdAtomic | qp.MaskMinRNRTimer},
		{qp.Attr{State: qp.StateRTS, SQPSN: q.InitialPSN(), Timeout: s.timeout, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 16},
			qp.MaskSQPSN | qp.MaskTimeout | qp.MaskRetryCount | qp.MaskRNRRetry | qp.MaskMaxRdAtomic},
	}
	for _, step := range steps {
		require.NoError(s.t, q.Modify(&step.a, step.m|qp.MaskState, Paths{path, path, path, path}))
	}
}

func (s *side) sge(off, n int) qp.SGE {
	return qp.SGE{Addr: s.region.Base() + uint64(off), Len: uint32(n), LKey: s.region.LKey()}
}

// post posts signaled work, by default a SEND, and rings.
func post(t testing.TB, q *QP, wrs ...qp.SendWR) {
	t.Helper()
	for i := range wrs {
		wrs[i].Flags |= qp.Signaled
		require.NoError(t, q.PostSend(&wrs[i]))
	}
	q.Ring()
}

// poll returns what the side's CQ holds.
func (s *side) poll() []cq.WC {
	out := make([]cq.WC, 256)
	return out[:s.cq.Poll(out)]
}

// pair is two sides on a simulated network, with one QP each, connected.
type pair struct {
	world  *simnet.World
	a, b   *side
	qa, qb *QP
	la, lb *simnet.Link
}

func newPair(t testing.TB, opts ...option) *pair {
	t.Helper()
	p := newLoosePair(t, opts...)
	p.attach()
	return p
}

// newLoosePair is a pair whose shards the test runs itself.
func newLoosePair(t testing.TB, opts ...option) *pair {
	t.Helper()
	p := &pair{world: simnet.New(1)}
	p.la = p.world.Link("a", netip.MustParseAddr("10.0.0.1"), simnet.MTU(4200))
	p.lb = p.world.Link("b", netip.MustParseAddr("10.0.0.2"), simnet.MTU(4200))
	p.a, p.b = newSide(t, p.la, opts...), newSide(t, p.lb, opts...)
	p.qa, p.qb = p.a.qp(), p.b.qp()
	p.a.connect(p.qa, p.qb)
	p.b.connect(p.qb, p.qa)
	return p
}

// attach has the world run the shards.
func (p *pair) attach() {
	p.world.Attach(p.a.shard)
	p.world.Attach(p.b.shard)
}

// run runs the world until side s has n completions, and returns them.
func (p *pair) run(t testing.TB, s *side, n int) []cq.WC {
	t.Helper()
	limit := p.world.Now().Add(10 * time.Second)
	require.NoError(t, p.world.RunUntil(func() bool { return s.cq.ring.Len() >= n }, limit))
	return s.poll()
}

// settle runs the world until nothing moves any more.
func (p *pair) settle(t testing.TB) {
	t.Helper()
	require.NoError(t, p.world.Run(p.world.Now().Add(time.Second)))
}

// running is two sides that run by themselves, connected.
type running struct {
	a, b   *side
	qa, qb *QP
}

// wait waits for n completions on a shard that runs by itself.
func (s *side) wait(ctx context.Context, n int) (all []cq.WC, err error) {
	out := make([]cq.WC, 16)
	for len(all) < n {
		k, err := s.cq.Wait(ctx, out)
		if err != nil {
			return all, err
		}
		all = append(all, out[:k]...)
	}
	return all, nil
}

var _ simnet.Device = (*Shard)(nil)

// arrive lets what is on its way arrive, without running the shards.
func (p *pair) arrive(t testing.TB) {
	t.Helper()
	require.NoError(t, p.world.Run(p.world.Now().Add(2*simnet.DefaultLatency)))
}
