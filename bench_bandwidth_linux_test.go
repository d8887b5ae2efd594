package roce_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// BenchmarkBandwidth moves bytes from one memory to the other over the loopback
// interface: by RDMA with 16 operations under way, by a TCP stream that is written
// in pieces of the same size, and by UDP datagrams of 4 KiB as fast as they go,
// where what is lost does not count.
func BenchmarkBandwidth(b *testing.B) {
	b.Run("WRITE/64KiB", func(b *testing.B) { moveMemory(b, roce.OpWrite, 64*kib) })
	b.Run("WRITE/1MiB", func(b *testing.B) { moveMemory(b, roce.OpWrite, mib) })
	b.Run("READ/64KiB", func(b *testing.B) { moveMemory(b, roce.OpRead, 64*kib) })
	b.Run("READ/1MiB", func(b *testing.B) { moveMemory(b, roce.OpRead, mib) })
	b.Run("TCP/64KiB", func(b *testing.B) { moveStream(b, loopbackPlace, loopbackPlace, 64*kib) })
	b.Run("TCP/1MiB", func(b *testing.B) { moveStream(b, loopbackPlace, loopbackPlace, mib) })
	b.Run("UDP/4KiB", func(b *testing.B) { moveDatagrams(b, 4*kib) })
}

func moveMemory(b *testing.B, op roce.Op, size int) {
	x, y := newLoopbackPair(b, depth*size, depth)
	move(b, op, x, y, size)
}

// move has x do an operation over and over, with all the memory that there is.
func move(b *testing.B, op roce.Op, x, y *end, size int) {
	source := map[roce.Op]*end{roce.OpWrite: x, roce.OpRead: y}[op]
	fill(source.mr.Bytes(), 1)
	works := make([][]roce.SendWR, depth)
	for i := range works {
		remote := y.mr.Remote().Slice(i*size, size)
		works[i] = []roce.SendWR{{
			Op: op, SGE: x.mr.SGE(i*size, size), Flags: roce.Signaled, RemoteAddr: remote.Addr, RKey: remote.Key,
		}}
	}
	b.SetBytes(int64(size))
	pipeline(b, x, works, wait)
	requireSame(b, x, y)
}

func moveStream(b *testing.B, one, two place, size int) {
	x, y := newStream(b, one, two)
	arrived := make(chan int)
	go func() {
		total, buf := 0, make([]byte, size)
		for {
			n, err := y.Read(buf)
			total += n
			if err != nil {
				break // the end of the stream; less than was sent if it broke
			}
		}
		arrived <- total
	}()
	b.ReportAllocs()
	b.SetBytes(int64(size))
	buf, sent := make([]byte, size), 0
	write := func() {
		n, err := x.Write(buf)
		sent += n
		must(err)
	}
	for range depth { // fills the buffers on the way
		write()
	}
	for b.Loop() {
		write()
	}
	require.NoError(b, x.CloseWrite())
	require.Equal(b, sent, <-arrived)
}

func moveDatagrams(b *testing.B, size int) {
	arrived := floodDatagrams(b, size)
	b.ReportMetric(float64(arrived*size)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// floodDatagrams sends datagrams as fast as they go, and returns how many arrived
// while the benchmark ran.
func floodDatagrams(b *testing.B, size int) (arrived int) {
	x, y := newNetConns(b, loopbackPlace, loopbackPlace)
	var count atomic.Int64
	go func() {
		buf := make([]byte, size)
		for {
			n, _, err := y.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			if n == size {
				count.Add(1)
			}
		}
	}()
	b.ReportAllocs()
	buf, to, sent := make([]byte, size), addrPort(y), 0
	for b.Loop() {
		_, err := x.WriteToUDPAddrPort(buf, to)
		must(err)
		sent++
	}
	arrived = int(count.Load())
	b.ReportMetric(100*float64(sent-arrived)/float64(sent), "lost-%")
	return arrived
}
