package roce_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link/udp"
)

// BenchmarkIncast is TestIncast over sockets: sixteen devices WRITE for a second to one
// whose socket has the receive buffer that the kernel gives to everybody, after one of
// them did alone. "share" is what all get through of what one does.
func BenchmarkIncast(b *testing.B) {
	for _, mtu := range []int{1024, 2048, 4096} {
		b.Run(fmt.Sprint(mtu), func(b *testing.B) {
			var alone, together float64
			for b.Loop() {
				alone += incast(b, mtu, 1)
				together += incast(b, mtu, incastSenders)
			}
			b.ReportMetric(alone/1e6/float64(b.N), "MB/s-alone")
			b.ReportMetric(together/1e6/float64(b.N), "MB/s-together")
			b.ReportMetric(together/alone, "share")
		})
	}
}

// defaultBuffer is half of net.core.rmem_default, as udp.ReceiveBuffer wants it.
const defaultBuffer = 212992 / 2

// incast returns the bytes per second that n senders get through.
func incast(b *testing.B, mtu, n int) float64 {
	b.Helper()
	receiver := newIncastEnd(b, loopback(b, udp.ReceiveBuffer(defaultBuffer)))
	senders := make([]*incastEnd, n)
	for i := range senders {
		senders[i] = newIncastEnd(b, loopback(b))
		senders[i].connect(receiver, mtu)
	}
	ctx, cancel := context.WithTimeout(b.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	start := time.Now()
	for _, s := range senders {
		all.Go(func() { s.write(ctx, receiver) })
	}
	all.Wait()
	took := time.Since(start)
	done := 0
	for _, s := range senders {
		done += s.done
		require.NoError(b, s.dev.Close())
	}
	require.NoError(b, receiver.dev.Close())
	return float64(done*incastMessage) / took.Seconds()
}

// write writes until the context is done.
func (e *incastEnd) write(ctx context.Context, receiver *incastEnd) {
	for {
		e.fill(receiver)
		n, err := e.cq.Wait(ctx, e.wc[:])
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		must(err)
		e.reap(n)
	}
}
