package linktest

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
)

// noLostFrameInStream: one goroutine sends bursts and does not wait for answers, the
// other sleeps whenever it finds nothing, so that frames come at every moment of its
// arming and parking. All are found.
func noLostFrameInStream(b *bench) {
	n := int64(rounds())
	var sent, found atomic.Int64
	window := int64(min(b.window(), 64))
	sender := make(chan struct{})
	go func() {
		defer close(sender)
		ball := b.packet(0, headLen, 32, 1)
		for burst := int64(1); sent.Load() < n && !b.Failed(); burst = burst%7 + 1 {
			for found.Load() < sent.Load()+burst-window && !b.Failed() {
				runtime.Gosched()
			}
			for range min(burst, n-sent.Load()) {
				b.a.reserve(ball, true)
				sent.Add(1)
			}
			b.a.tryFlush()
		}
		b.a.flush()
	}()
	for found.Load() < n {
		if err := b.b.catch(&found); err != nil {
			b.Fatalf("after %d of %d packets: %v", found.Load(), sent.Load(), err)
		}
	}
	<-sender
	b.Logf("%d packets", n)
}

// closeRaces: Close may come while others arm, park, wake and look at the link. All
// of them return, then and ever after.
func closeRaces(b *bench) {
	pairs := 5
	if testenv.Full() {
		pairs = 100
	}
	for round := range pairs {
		if round > 0 {
			b = newBench(b.T, b.open)
		}
		var others sync.WaitGroup
		var closed atomic.Bool
		until := func(stop *atomic.Bool, f func()) {
			others.Go(func() {
				for !stop.Load() {
					f()
				}
				f()
			})
		}
		q := b.a.q
		var lock sync.Mutex // the shard's
		until(&closed, q.Wake)
		until(&closed, func() {
			lock.Lock()
			q.Arm(q.Now().Add(1000), link.Interest{Rx: true, Tx: true})
			lock.Unlock()
		})
		until(&closed, func() {
			lock.Lock()
			q.Arm(clock.Never, link.Interest{Rx: true})
			lock.Unlock()
			q.Park()
			lock.Lock()
			q.Disarm()
			if q.Recv(b.a.rx[:]) > 0 {
				q.Release()
			}
			lock.Unlock()
		})
		if counted, ok := b.A.(link.Counted); ok {
			until(&closed, func() { counted.Counters() })
		}
		for range round {
			runtime.Gosched()
		}
		b.noError(b.A.Close(), fmt.Sprintf("Close in round %d", round))
		closed.Store(true)
		ended := make(chan struct{})
		go func() { others.Wait(); close(ended) }()
		b.ends(ended, "a closed link holds someone up")
		if n := q.Recv(b.a.rx[:]); n != 0 {
			b.Errorf("a closed link received %d frames", n)
		}
	}
}
