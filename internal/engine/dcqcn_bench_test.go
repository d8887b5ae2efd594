package engine

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/mr"
	"github.com/rocinante-rdma/roce/qp"
	"github.com/rocinante-rdma/roce/wire"
)

// nowhere is a link whose packets go nowhere; what it receives, and its time, are the
// test's. So nothing but the engine's own work is measured.
type nowhere struct {
	now      clock.Time
	reserved int
	frame    [link.MaxHeader + link.MaxPayload + link.MaxTail]byte
	inbox    []byte // the next frame
	meta     link.Meta
}

func (n *nowhere) Name() string             { return "nowhere" }
func (n *nowhere) Addrs() []netip.Addr      { return []netip.Addr{n.meta.Dst} }
func (n *nowhere) MTU() int                 { return 4200 }
func (n *nowhere) Resolve(*wire.Path) error { return nil }
func (n *nowhere) Queue() link.Queue        { return n }
func (n *nowhere) Close() error             { return nil }
func (n *nowhere) Now() clock.Time          { return n.now }
func (n *nowhere) Room() int                { return 128 - n.reserved }

func (n *nowhere) Reserve(_ *wire.Path, hdr int, pay [][]byte, pad int, _ bool, s *link.Slot) {
	n.reserved++
	s.Head, s.Tail = n.frame[:hdr], n.frame[len(n.frame)-pad-wire.ICRCLen:]
	s.NBody = copy(s.Body[:], pay)
}

func (n *nowhere) Flush() (int, error) { n.reserved = 0; return 0, nil }

func (n *nowhere) Recv(rx []link.Rx) int {
	if n.inbox == nil {
		return 0
	}
	rx[0] = link.Rx{Frag: [2][]byte{n.inbox}, Meta: n.meta}
	n.inbox = nil
	return 1
}

func (n *nowhere) Release()                      {}
func (n *nowhere) Arm(clock.Time, link.Interest) {}
func (n *nowhere) Park()                         {}
func (n *nowhere) Disarm()                       {}
func (n *nowhere) Wake()                         {}

const (
	benchPackets = 16
	benchMTU     = 1024
)

// BenchmarkDCQCN is what the engine's part of a WRITE of 16 packets costs, from the post to
// the completion: without congestion control by ECN, with it at line rate, and paced, where
// every packet takes a turn.
func BenchmarkDCQCN(b *testing.B) {
	for _, c := range []struct {
		name  string
		dcqcn *DCQCN
	}{{"off", nil}, {"line", limited(b, 0)}, {"paced", limited(b, 8e9)}} {
		b.Run(c.name, func(b *testing.B) { benchmarkWrites(b, c.dcqcn) })
	}
}

func benchmarkWrites(b *testing.B, d *DCQCN) {
	self := netip.MustParseAddr("10.0.0.1")
	l := &nowhere{meta: link.Meta{Src: self, Dst: self, SrcPort: 0xc001, IDKnown: true, Flags: wire.DontFragment}}
	rnd := rand.New(rand.NewPCG(1, 2)).Uint64
	s := &side{t: b, shard: New(Config{Link: l, Memory: mr.NewTable(rnd), Mode: Manual, Rand: rnd}), link: l, timeout: 14}
	s.cq = s.shard.NewCQ(16, nil)
	buf := make([]byte, benchPackets*benchMTU)
	region, err := s.shard.memory.Register(testPD, buf, mr.Address(buf), allAccess)
	require.NoError(b, err)
	s.region = region
	q := s.qpWith(d)
	s.connect(q, q)

	write := qp.SendWR{Op: qp.OpWrite, SGE: s.sge(0, len(buf)), Flags: qp.Signaled}
	ack := make([]byte, bth.BTHLen+bth.AETHLen+wire.ICRCLen)
	h := bth.Packet{Opcode: bth.RCAcknowledge, PKey: bth.DefaultPKey, DestQP: q.QPN(), PSN: q.InitialPSN().Sub(1)}
	out := s.poll()[:0:1][:1]
	b.ReportAllocs()
	for b.Loop() {
		_ = q.PostSend(&write)
		q.Ring()
		for sent := s.shard.counters.TxPackets + benchPackets; s.shard.counters.TxPackets < sent; l.now += 1200 {
			s.shard.Poll()
		}
		h.PSN, h.AETH.MSN = h.PSN.Add(benchPackets), h.AETH.MSN+1
		h.PutHeaders(ack)
		seal(&l.meta, ack)
		l.inbox = ack
		s.shard.Poll()
		if s.cq.Poll(out) != 1 {
			b.Fatal("no completion")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPackets, "ns/packet")
}
