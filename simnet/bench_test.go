package simnet_test

import (
	"testing"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// BenchmarkPacket is one packet of 1 KiB through the world: reserve, seal, switch,
// receive, verify.
func BenchmarkPacket(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []simnet.LinkOption
	}{{"unlimited", nil}, {"100 Gbit", []simnet.LinkOption{simnet.Bandwidth(100e9)}}} {
		b.Run(c.name, func(b *testing.B) {
			w, from, to := pair(1, c.opts...)
			p := &wire.Path{Src: addrA, Dst: addrB, SrcPort: 0xc000}
			p.Prepare()
			pay, q := [][]byte{make([]byte, 1024)}, from.Queue()
			head := bth.Packet{Opcode: bth.RCSendOnly}
			var rx [64]link.Rx
			var check wire.Verifier
			b.SetBytes(1024)
			b.ReportAllocs()
			for n := 0; n < b.N; {
				for range 32 {
					var s link.Slot
					q.Reserve(p, bth.BTHLen, pay, 0, false, &s)
					head.PutHeaders(s.Head)
					p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
				}
				q.Flush()
				if err := w.Run(clock.Never); err != nil {
					b.Fatal(err)
				}
				got := to.Queue().Recv(rx[:])
				for _, r := range rx[:got] {
					if check.Verify(r.Meta.Src, r.Meta.Dst, r.Meta.SrcPort, r.Meta.Flags, r.Meta.ID, r.Frag) == wire.ICRCBad {
						b.Fatal("bad ICRC")
					}
				}
				n += got
				to.Queue().Release()
			}
		})
	}
}
