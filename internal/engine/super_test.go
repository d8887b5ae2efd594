package engine

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/transport"
)

// countedLink is a simulated link that counts the shapes of what it delivers.
type countedLink struct {
	*simnet.Link
	queue countedQueue
}

type countedQueue struct {
	link.Queue
	frames, supers, parted int
}

func (l *countedLink) Queue() link.Queue { return &l.queue }

func (q *countedQueue) Recv(rx []link.Rx) int {
	n := q.Queue.Recv(rx)
	for _, r := range rx[:n] {
		q.frames++
		if r.Seg > 0 {
			q.supers++
		}
		if len(r.Frag[1]) > 0 {
			q.parted++
		}
	}
	return n
}

// The ways in which super-frames come.
var superKinds = map[string][]simnet.LinkOption{
	"whole":                   {simnet.SuperFrames(128)},
	"of three":                {simnet.SuperFrames(3)},
	"in fragments":            {simnet.SuperFrames(128), simnet.Fragments()},
	"hidden identifications":  {simnet.SuperFrames(128), simnet.HiddenIDs()},
	"hidden and in fragments": {simnet.SuperFrames(128), simnet.HiddenIDs(), simnet.Fragments()},
	"single, in fragments":    {simnet.Fragments()},
}

// superPair is a pair whose links deliver super-frames of a kind.
type superPair struct {
	*pair
	from, to *countedLink
}

func newSuperPair(t testing.TB, seed uint64, kind []simnet.LinkOption, opts ...option) *superPair {
	t.Helper()
	p := &superPair{pair: &pair{world: simnet.New(seed)}}
	open := func(name, addr string) (*simnet.Link, *countedLink) {
		l := p.world.Link(name, netip.MustParseAddr(addr), append([]simnet.LinkOption{simnet.MTU(4200)}, kind...)...)
		return l, &countedLink{l, countedQueue{Queue: l.Queue()}}
	}
	p.la, p.from = open("a", "10.0.0.1")
	p.lb, p.to = open("b", "10.0.0.2")
	p.a, p.b = newSide(t, p.from, opts...), newSide(t, p.to, opts...)
	p.qa, p.qb = p.a.qp(), p.b.qp()
	p.a.connect(p.qa, p.qb)
	p.b.connect(p.qb, p.qa)
	p.attach()
	return p
}

// Areas of side b's memory: what a writes, what it reads, where messages go, and a
// counter. Side a keeps its half of the work at the same places.
const (
	superArea = 20 << 10
	areaWrite = 0
	areaRead  = superArea
	areaSend  = 2 * superArea
	areaCount = 3 * superArea
)

// superWork is one random operation of a, with what must come of it.
type superWork struct {
	wr    qp.SendWR
	check func()
}

// operation makes one. Each works on the whole length of its own area, so one
// of a kind is under way at a time.
func (p *superPair) operation(t testing.TB, r *rand.Rand, op qp.Op) superWork {
	n := r.IntN(superArea-4) + 1
	mine, peers := p.a.region.Bytes(), p.b.region.Bytes()
	fillRandom := func(b []byte) []byte {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	at := func(area int) qp.SendWR {
		return qp.SendWR{Op: op, SGE: p.a.sge(area, n), RemoteAddr: p.b.region.Base() + uint64(area), RKey: p.b.region.RKey()}
	}
	same := func(area int) func() {
		return func() { require.True(t, bytes.Equal(mine[area:area+n], peers[area:area+n]), "%v of %d bytes", op, n) }
	}
	switch op {
	case qp.OpWrite:
		fillRandom(mine[areaWrite : areaWrite+n])
		return superWork{at(areaWrite), same(areaWrite)}
	case qp.OpRead:
		fillRandom(peers[areaRead : areaRead+n])
		return superWork{at(areaRead), same(areaRead)}
	case qp.OpSend:
		fillRandom(mine[areaSend : areaSend+n])
		require.NoError(t, p.qb.PostRecv(&qp.RecvWR{SGE: p.b.sge(areaSend, superArea)}))
		return superWork{at(areaSend), same(areaSend)}
	}
	n = 8
	before := binary.NativeEndian.Uint64(peers[areaCount:])
	w := at(areaCount)
	w.Add = 1 + r.Uint64N(1000)
	return superWork{w, func() {
		require.Equal(t, before, binary.NativeEndian.Uint64(mine[areaCount:]), "a FetchAdd's answer")
		require.Equal(t, before+w.Add, binary.NativeEndian.Uint64(peers[areaCount:]), "a FetchAdd is done once")
	}}
}

var superOps = []qp.Op{qp.OpWrite, qp.OpRead, qp.OpSend, qp.OpFetchAdd}

// round runs one of each operation, in random order, all under way together.
func (p *superPair) round(t testing.TB, r *rand.Rand) {
	t.Helper()
	var works []superWork
	for _, i := range r.Perm(len(superOps)) {
		works = append(works, p.operation(t, r, superOps[i]))
	}
	for _, w := range works {
		post(t, p.qa, w.wr)
	}
	for _, wc := range p.run(t, p.a, len(works)) {
		require.Equal(t, cq.StatusSuccess, wc.Status)
	}
	for _, w := range works {
		w.check()
	}
	p.b.poll()
}

// Every operation works through super-frames of every kind, also while single packets
// of them are lost, doubled, damaged, marked and change places.
func TestSuperFramesCarryEveryOperation(t *testing.T) {
	seed := testenv.Seed(t)
	for name, kind := range superKinds {
		for _, luck := range []simnet.Random{{}, {Loss: .01, Dup: .02, Reorder: .01, Corrupt: .01, CE: .05}} {
			p := newSuperPair(t, seed, kind)
			p.world.Faults.Add(simnet.Randomly(simnet.Match{}, luck))
			r := rand.New(rand.NewPCG(seed, 1))
			for range 60 {
				p.round(t, r)
			}
			q := p.to.queue
			t.Logf("%s, loss %g: %d frames, %d super-frames, %d in fragments, %v", name, luck.Loss, q.frames, q.supers, q.parted, p.world.Stats())
			if name != "single, in fragments" {
				require.Positive(t, q.supers)
			}
			damaged := p.world.Stats().Steps[simnet.Corrupted] + p.world.Stats().Steps[simnet.Duplicated]
			for _, s := range []*side{p.a, p.b} {
				require.LessOrEqual(t, s.shard.Counters().ByRule[transport.RuleICRC], damaged, "only damaged packets have a bad ICRC")
			}
		}
	}
}

// Whichever packet of a super-frame is lost, damaged, doubled or late: the message
// arrives whole.
func TestEveryPlaceInASuperFrame(t *testing.T) {
	const packets = 20
	for name, kind := range superKinds {
		for place := range bth.PSN(packets) {
			for _, fault := range []func(simnet.Match) *simnet.Fault{
				simnet.Drop, simnet.Duplicate,
				func(m simnet.Match) *simnet.Fault { return simnet.Corrupt(m, -1) },
				func(m simnet.Match) *simnet.Fault { return simnet.Reorder(m, 2) },
				func(m simnet.Match) *simnet.Fault { return simnet.Delay(m, 30*time.Microsecond) },
			} {
				p := newSuperPair(t, 1, kind)
				p.world.Faults.Add(fault(simnet.Match{From: "a", PSN: new(p.qa.InitialPSN().Add(uint32(place))), Count: 1}))
				mine := p.a.region.Bytes()[:packets*1024]
				for i := range mine {
					mine[i] = byte(i >> 8)
				}
				post(t, p.qa, qp.SendWR{Op: qp.OpWrite, SGE: p.a.sge(0, len(mine)), RemoteAddr: p.b.region.Base(), RKey: p.b.region.RKey()})
				require.Equal(t, cq.StatusSuccess, p.run(t, p.a, 1)[0].Status, name)
				require.Equal(t, mine, p.b.region.Bytes()[:len(mine)])
			}
		}
	}
}

// What a hostile peer, or a broken device, says of the packets in a super-frame: all
// bytes are looked at once, as packets of that length, and each is counted under one
// rule.
func TestHostileSegments(t *testing.T) {
	for _, opts := range [][]simnet.LinkOption{nil, {simnet.Fragments()}} {
		p := newSuperPair(t, testenv.Seed(t), opts)
		r := &rig{pair: p.pair}
		meta := link.Meta{Src: r.la.Addrs()[0], Dst: r.lb.Addrs()[0], SrcPort: 0xc001, IDKnown: true}
		var frame []byte
		const packets = 5
		for i := range packets {
			m := meta
			m.ID += uint16(i)
			frame = append(frame, r.packet(&m, func(h *bth.Packet) { h.DestQP ^= 0x800000 }, make([]byte, 32))...)
		}
		size := len(frame) / packets
		for _, c := range []struct {
			seg  int
			want map[transport.Rule]uint64
		}{
			{size, map[transport.Rule]uint64{transport.RuleNoQP: packets}},
			{0, map[transport.Rule]uint64{transport.RuleICRC: 1}},
			{-1, map[transport.Rule]uint64{transport.RuleICRC: 1}},
			{math.MinInt, map[transport.Rule]uint64{transport.RuleICRC: 1}},
			{1, map[transport.Rule]uint64{transport.RuleShort: uint64(len(frame))}},
			{bth.BTHLen - 1, map[transport.Rule]uint64{transport.RuleShort: uint64(len(frame)+bth.BTHLen-2) / (bth.BTHLen - 1)}},
			{size + 1, map[transport.Rule]uint64{transport.RuleICRC: packets}},
			{size - 1, map[transport.Rule]uint64{transport.RuleICRC: packets, transport.RuleShort: 1}},
			{len(frame), map[transport.Rule]uint64{transport.RuleICRC: 1}},
			{len(frame) + 1, map[transport.Rule]uint64{transport.RuleICRC: 1}},
			{math.MaxInt, map[transport.Rule]uint64{transport.RuleICRC: 1}},
		} {
			before := r.b.shard.Counters()
			r.la.InjectSuper(meta, frame, c.seg)
			r.settle(t)
			after := r.b.shard.Counters()
			got := map[transport.Rule]uint64{}
			for rule, n := range after.ByRule {
				if n -= before.ByRule[rule]; n > 0 {
					got[transport.Rule(rule)] = n
				}
			}
			if opts == nil || c.seg == size { // else a cut may fall into what is taken for headers
				require.Equal(t, c.want, got, "segments of %d, packets of %d", c.seg, size)
			}
			require.Equal(t, before.RxBytes+uint64(len(frame)), after.RxBytes, "segments of %d", c.seg)
		}
		p.round(t, rand.New(rand.NewPCG(1, 1)))
	}
}
