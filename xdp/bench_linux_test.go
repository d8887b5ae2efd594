//go:build amd64

// Package github.com/asavie/xdp relies on the order in which amd64 writes to memory.

package xdp

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/perfpage/samples"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// end is one end of a veth, ours or github.com/asavie/xdp's: it sends n packets with
// ICRC, or spins until n have come.
type end struct {
	send, receive func(n int)
}

// benchBatch is how many packets are sent in one go.
const benchBatch = 32

// BenchmarkOneWay is the cost of a packet from one end to the other. One goroutine is
// both, so the kernel's work is in it, and waiting for another processor is not.
func BenchmarkOneWay(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y end) {
		for left := b.N; left > 0; left -= benchBatch {
			n := min(left, benchBatch)
			x.send(n)
			y.receive(n)
		}
	})
}

// BenchmarkPingPong is half the time of a round trip of one packet between two
// goroutines that spin, so a processor for each.
func BenchmarkPingPong(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y end) {
		trips, answered := samples.New(), make(chan struct{})
		go func() {
			for range b.N {
				y.receive(1)
				y.send(1)
			}
			close(answered)
		}()
		for range b.N {
			start := time.Now()
			x.send(1)
			x.receive(1)
			trips.Add(time.Since(start))
		}
		<-answered
		trips.ReportHalf(b)
	})
}

// eachPair runs a benchmark between ends of each kind, with payloads of several sizes.
func eachPair(b *testing.B, run func(b *testing.B, x, y end)) {
	for _, kind := range []struct {
		name string
		open func(b *testing.B, size int) (x, y end)
	}{{"ours", ourPair}, {"asavie", foreignPair}} {
		for _, size := range []int{64, 1024, 2048} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, size), func(b *testing.B) {
				x, y := kind.open(b, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				run(b, x, y)
			})
		}
	}
}

// benchMTU is one that both kinds can.
const benchMTU = 2200

func ourPair(b *testing.B, size int) (x, y end) {
	one, two := pair(b, benchMTU, Native())
	return ourEnd(one, pathTo(b, one, two), size), ourEnd(two, pathTo(b, two, one), size)
}

func ourEnd(l *Link, p *wire.Path, size int) end {
	q, payload := l.port, [][]byte{make([]byte, size)}
	headers := p.Template()
	var slot link.Slot
	rx := make([]link.Rx, benchBatch)
	return end{
		send: func(n int) {
			for range n {
				q.Reserve(headers, 12, payload, 0, false, &slot)
				p.Seal(slot.ID, slot.Head, slot.Body[:slot.NBody], slot.Tail)
			}
			_, _ = q.Flush()
		},
		receive: func(n int) {
			for n > 0 {
				n -= q.Recv(rx)
				q.Release()
			}
		},
	}
}

func foreignPair(b *testing.B, size int) (x, y end) {
	s := netnstest.NewStreet(b, netns.Options{MTU: benchMTU})
	one, two := openForeign(b, s.A), openForeign(b, s.B)
	there := &wire.Path{Src: s.A.IPv4, Dst: s.B.IPv4, SrcMAC: one.mac, DstMAC: two.mac, SrcPort: 0xc001}
	back := &wire.Path{Src: s.B.IPv4, Dst: s.A.IPv4, SrcMAC: two.mac, DstMAC: one.mac, SrcPort: 0xc001}
	return one.end(there, size), two.end(back, size)
}

func (f *foreign) end(p *wire.Path, size int) end {
	p.Prepare()
	headers, payload := p.Template(), make([]byte, size)
	total := 12 + size + wire.ICRCLen
	var id uint16
	write := func(frame []byte) int {
		id++
		headers.Put(frame, id, total)
		packet := frame[headers.Len() : headers.Len()+total]
		copy(packet[12:], payload)
		body := [1][]byte{packet[12 : 12+size]}
		p.Seal(id, packet[:12], body[:], packet[12+size:])
		return headers.Len() + total
	}
	return end{
		send: func(n int) {
			for n > 0 {
				n -= f.send(n, write)
			}
		},
		receive: func(n int) {
			for n > 0 {
				n -= f.receive(func(frame []byte) { _, _ = wire.ParseFrame(frame) })
			}
		},
	}
}
