package roce_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/simnet"
	"github.com/rocinante-rdma/roce/wire"
)

// BenchmarkEngine is what the stack itself costs, without a kernel: SENDs of 64
// bytes over the simulated network, posted at once, from the post to the completions
// at both ends; beside as many packets and one acknowledgement that do nothing but
// cross that network. The ICRC is made and checked in both.
func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{1, listSize} {
		b.Run(fmt.Sprintf("SEND/%d", n), func(b *testing.B) { sendSimulated(b, n) })
		b.Run(fmt.Sprintf("network/%d", n), func(b *testing.B) { crossSimulated(b, n) })
	}
}

func reportPerMessage(b *testing.B, messages int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/message")
}

// sendSimulated polls each device when there is something for it to do, and only
// then: what a world does to find out when that is would cost more than the rest.
func sendSimulated(b *testing.B, n int) {
	w := simnet.New(1)
	newEnd := func(name, addr string) *end {
		return newBenchEnd(b, w.Link(name, netip.MustParseAddr(addr)), n*smallSize, n, roce.Manual())
	}
	x, y := connected(newEnd("x", "10.0.0.1"), newEnd("y", "10.0.0.2"))
	receives, requests := make([]roce.RecvWR, n), make([]roce.SendWR, n)
	for i := range n {
		receives[i] = roce.RecvWR{SGE: y.mr.SGE(i*smallSize, smallSize)}
		requests[i] = roce.SendWR{Op: roce.OpSend, SGE: x.mr.SGE(i*smallSize, smallSize), Flags: roce.Signaled}
	}
	wc := make([]roce.WC, 2*n)
	sent, received := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		_, err := y.qp.PostRecv(receives...)
		must(err)
		post(x, requests)
		x.dev.Poll()
		cross(w)
		y.dev.Poll()
		received += reapGood(b, y, wc, pollOnce)
		cross(w)
		x.dev.Poll()
		sent += reapGood(b, x, wc, pollOnce)
	}
	require.Equal(b, b.N*n, sent)
	require.Equal(b, b.N*n, received)
	require.EqualValues(b, b.N*(n+1), w.Stats().Steps[simnet.Delivered], "other packets crossed the network")
	reportPerMessage(b, b.N*n)
}

func pollOnce(_ *testing.B, c *roce.CQ, wc []roce.WC) int { return c.Poll(wc) }

// cross lets everything that was sent arrive.
func cross(w *simnet.World) { must(w.Run(clock.Never)) }

func crossSimulated(b *testing.B, n int) {
	w := simnet.New(1)
	x := newCrosser(w, "x", "10.0.0.1", "10.0.0.2")
	y := newCrosser(w, "y", "10.0.0.2", "10.0.0.1")
	data, nothing := [][]byte{make([]byte, smallSize)}, [][]byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		x.send(n, bth.RCSendOnly, data)
		y.take(w)
		y.send(1, bth.RCAcknowledge, nothing)
		x.take(w)
	}
	require.Equal(b, b.N*n, y.good)
	require.Equal(b, b.N, x.good)
	reportPerMessage(b, b.N*n)
}

// crosser sends and takes packets, and that is all.
type crosser struct {
	queue link.Queue
	path  *wire.Path
	check wire.Verifier
	rx    [listSize]link.Rx
	slot  link.Slot
	good  int
}

func newCrosser(w *simnet.World, name, addr, peer string) *crosser {
	src, dst := netip.MustParseAddr(addr), netip.MustParseAddr(peer)
	c := &crosser{queue: w.Link(name, src).Queue(), path: &wire.Path{Src: src, Dst: dst, SrcPort: 0xc000}}
	c.path.Prepare()
	return c
}

func (c *crosser) send(n int, op bth.Opcode, pay [][]byte) {
	head := bth.Packet{Opcode: op}
	for range n {
		c.queue.Reserve(c.path, op.HeaderLen(), pay, 0, false, &c.slot)
		head.PutHeaders(c.slot.Head)
		c.path.Seal(c.slot.ID, c.slot.Head, c.slot.Body[:c.slot.NBody], c.slot.Tail)
	}
	_, err := c.queue.Flush()
	must(err)
}

func (c *crosser) take(w *simnet.World) {
	cross(w)
	for i := range c.rx[:c.queue.Recv(c.rx[:])] {
		r := &c.rx[i]
		if c.check.Verify(r.Meta.Src, r.Meta.Dst, r.Meta.SrcPort, r.Meta.Flags, r.Meta.ID, r.Frag) == wire.ICRCGood {
			c.good++
		}
	}
	c.queue.Release()
}
