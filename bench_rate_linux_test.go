package roce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// lists is how many lists of requests are under way.
const lists = 4

// BenchmarkRate counts small messages over the loopback interface: WRITEs posted in
// lists, beside datagrams of package net in one direction; and operations that have
// an answer, 16 under way, beside datagrams that are sent back.
func BenchmarkRate(b *testing.B) {
	b.Run("WRITE/64B", writeLists)
	b.Run("UDP/64B", func(b *testing.B) { reportRate(b, floodDatagrams(b, smallSize+datagramOverhead)) })
	b.Run("FetchAdd/8B", fetchAdd)
	b.Run("UDP/echo", echoDatagrams)
}

// writeLists posts lists of WRITEs of which only the last is signaled.
func writeLists(b *testing.B) {
	x, y := newLoopbackPair(b, lists*listSize*smallSize, lists*listSize)
	fill(x.mr.Bytes(), 1)
	works := make([][]roce.SendWR, lists)
	for i := range works {
		for j := range listSize {
			at := (i*listSize + j) * smallSize
			remote := y.mr.Remote().Slice(at, smallSize)
			works[i] = append(works[i], roce.SendWR{
				Op: roce.OpWrite, SGE: x.mr.SGE(at, smallSize), RemoteAddr: remote.Addr, RKey: remote.Key,
			})
		}
		works[i][listSize-1].Flags = roce.Signaled
	}
	pipeline(b, x, works, wait)
	requireSame(b, x, y)
	reportRate(b, b.N*listSize)
}

// fetchAdd adds to one word.
func fetchAdd(b *testing.B) {
	x, y := newLoopbackPair(b, depth*8, depth)
	word := y.mr.Remote().Slice(0, 8)
	works := make([][]roce.SendWR, depth)
	for i := range works {
		works[i] = []roce.SendWR{{
			Op: roce.OpFetchAdd, SGE: x.mr.SGE(8*i, 8), Add: 1, Flags: roce.Signaled, RemoteAddr: word.Addr, RKey: word.Key,
		}}
	}
	pipeline(b, x, works, wait)
	require.EqualValues(b, b.N+depth, y.mr.LoadUint64(0))
	reportRate(b, b.N)
}

// echoDatagrams has 16 datagrams of the size of a FetchAdd under way and counts those
// that come back.
func echoDatagrams(b *testing.B) {
	const size = datagramOverhead + 28 // AtomicETH
	x, y := newNetConns(b, loopbackPlace, loopbackPlace)
	go func() {
		buf := make([]byte, size)
		for {
			n, from, err := y.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			_, _ = y.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	b.ReportAllocs()
	buf, to := make([]byte, size), addrPort(y)
	send := func() {
		_, err := x.WriteToUDPAddrPort(buf, to)
		must(err)
	}
	for range depth {
		send()
	}
	for b.Loop() {
		if n, _, err := x.ReadFromUDPAddrPort(buf); n != size {
			b.Fatal("another length came back:", n, err)
		}
		send()
	}
	reportRate(b, b.N)
}
