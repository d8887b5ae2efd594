package rc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/qp"
)

// TestPSNWrapUnderLoss proves 9.7.2: messages of every operation whose PSNs run over
// 2^24 at each of their packets arrive whole, in order and once, whichever packet is lost,
// and both ways at once.
func TestPSNWrapUnderLoss(t *testing.T) {
	const n = 3*testMTU + 5
	for _, op := range wireOps {
		for start := bth.PSN(0xfffffa); start != 2; start = start.Add(1) {
			for lost := range 10 {
				o := defaults()
				o.psnA, o.psnB = start, start.Add(1)
				p := newPair(t, o)
				p.lose = loseOnce(lost, func(*host, *packet) bool { return true })
				want := p.a.fill(0, n, byte(lost))
				if op == qp.OpRead {
					want = p.b.fill(0, n, byte(lost))
				}
				was := p.b.word(0)
				for i := range 2 {
					p.b.postRecv(uint64(i), 0, n)
					p.a.postRecv(uint64(i), 100000, n)
					p.a.post(p.ask(op, 0, n))
					p.b.post(qp.SendWR{Op: qp.OpSend, SGE: p.b.sge(200000, n)})
				}
				p.settle()
				p.a.requireSends(ok(2)...)
				p.b.requireSends(ok(2)...)
				p.a.requireRecvs(ok(2)...)
				switch {
				case op == qp.OpFetchAdd:
					require.Equal(t, was+2, p.b.word(0), "once each, from PSN %d, packet %d lost", start, lost)
				case op.ConsumesRecv():
					p.b.requireRecvs(ok(2)...)
					fallthrough
				case !op.Atomic():
					require.Equal(t, want, p.a.snapshot(0, n), "from PSN %d, packet %d lost", start, lost)
					require.Equal(t, want, p.b.snapshot(0, n), "from PSN %d, packet %d lost", start, lost)
				}
			}
		}
	}
}
