package xdp

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// sendMany sends n packets, numbered from 0, as room allows.
func sendMany(t *testing.T, l *Link, p *wire.Path, n int, payload []byte) {
	t.Helper()
	q := l.Queue()
	for sent := 0; sent < n; {
		for room := q.Room(); room > 0 && sent < n; room-- {
			put(q, p, byte(sent), payload)
			sent++
		}
		pending, err := q.Flush()
		require.NoError(t, err)
		require.Zero(t, pending)
	}
}

// take receives what there is, and keeps it.
func take(q link.Queue) (n int) {
	var rx [64]link.Rx
	for {
		got := q.Recv(rx[:])
		if got == 0 {
			return n
		}
		n += got
	}
}

// A receiver that gives nothing back: the kernel has no chunk for more, counts what
// it drops, and goes on as soon as chunks come back.
func TestFramesExhausted(t *testing.T) {
	for _, c := range []struct{ mtu, payload, perPacket int }{{1500, 100, 1}, {4200, 4096, 2}} {
		a, b := pair(t, c.mtu)
		p := pathTo(t, a, b)
		const extra = 300
		fit := rxChunks / c.perPacket
		for range 3 {
			sendMany(t, a, p, fit+extra, make([]byte, c.payload))
			require.Equal(t, fit, take(b.Queue()))
			sendMany(t, a, p, extra, make([]byte, c.payload))
			require.Zero(t, take(b.Queue()))
			b.Queue().Release()
		}
		sendMany(t, a, p, 100, make([]byte, c.payload))
		require.Len(t, await(t, b.Queue(), 100), 100)
		t.Log(b.Counters())
		require.Equal(t, uint64(6*extra), counter(b, "xdp: no chunk was free for a packet"))
	}
}

// A full TX ring: Room says so, and all of it arrives in order once it is flushed. Each
// flush reads the completions, so that all room is back.
func TestTxRingFull(t *testing.T) {
	for _, c := range []struct{ mtu, payload, room int }{{1500, 1024, txChunks}, {9000, 4096, txChunks / 2}} {
		a, b := pair(t, c.mtu)
		p := pathTo(t, a, b)
		for range 3 {
			require.Equal(t, c.room, a.port.Room())
			for i := range c.room {
				put(a.Queue(), p, byte(i), make([]byte, c.payload))
			}
			require.Zero(t, a.port.Room())
			pending, err := a.Queue().Flush()
			require.NoError(t, err)
			require.Zero(t, pending)
			for i, tag := range await(t, b.Queue(), c.room) {
				require.Equal(t, byte(i), tag)
			}
		}
		require.Empty(t, a.port.Counters())
		require.Empty(t, b.port.Counters())
	}
}

// A completion ring that is read slowly: the kernel fills it over several rounds, to the
// last entry, and all chunks come back when it is read at last.
func TestCompletionRingReadSlowly(t *testing.T) {
	for _, c := range []struct{ mtu, payload, room int }{{1500, 1024, txChunks}, {9000, 4096, txChunks / 2}} {
		a, b := pair(t, c.mtu)
		p, s := pathTo(t, a, b), a.port.sockets[0]
		const rounds = 8
		for range 3 {
			for sent := range c.room {
				put(a.Queue(), p, byte(sent), make([]byte, c.payload))
				if (sent+1)%(c.room/rounds) != 0 {
					continue
				}
				s.tx.publish()
				for kicks := s.kicks(s.tx.ring.left()); kicks > 0; kicks-- {
					kickTx(s.fd) // EAGAIN: more is left than it sends in a call
				}
				require.Zero(t, s.tx.ring.left())
			}
			require.Zero(t, s.tx.room())
			for i, tag := range await(t, b.Queue(), c.room) {
				require.Equal(t, byte(i), tag)
			}
			require.EqualValues(t, txChunks, s.tx.completions.ready())
			s.tx.reap()
			require.Equal(t, c.room, s.tx.room())
		}
		require.Empty(t, a.port.Counters())
		require.Empty(t, b.port.Counters())
	}
}

// While the interface is down packets are lost and counted: nothing is pending, nobody
// is woken, and room stays. Only those of the flush that found it down leave when it is
// up again, before what comes then.
func TestInterfaceDown(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{})
	a, b := openOn(t, s.A, Addrs(s.A.IPv4)), openOn(t, s.B, Addrs(s.B.IPv4))
	p := pathTo(t, a, b)
	set := func(up func(netlink.Link) error) {
		require.NoError(t, s.A.Do(func() error {
			l, err := netlink.LinkByName("va")
			require.NoError(t, err)
			return up(l)
		}))
	}
	set(netlink.LinkSetDown)
	const first, lost = 3, 2 * txChunks
	for tag := range byte(first) {
		put(a.Queue(), p, tag, nil)
	}
	flush := func() {
		pending, err := a.port.Flush()
		require.NoError(t, err)
		require.Zero(t, pending)
	}
	flush()
	for range lost {
		send(t, a.Queue(), p, 0xff, nil)
	}
	require.Equal(t, uint64(lost), counter(a, "xdp: not sent, the interface was down"))
	require.Equal(t, txChunks-first, a.port.Room())
	set(netlink.LinkSetUp)
	for flush(); a.port.Room() < txChunks; flush() {
		// What waited is on its way: its chunks come back when the other end has taken it.
	}
	send(t, a.Queue(), p, first, nil)
	require.Equal(t, []byte{0, 1, 2, first}, await(t, b.Queue(), first+1))
}

// The interface is deleted under traffic: sending fails for good, receiving finds
// nothing, Close closes.
func TestInterfaceDeleted(t *testing.T) {
	s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
	a, b := openOn(t, s.A, Addrs(s.A.IPv4)), openOn(t, s.B, Addrs(s.B.IPv4))
	p := pathTo(t, a, b)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.B.Do(func() error {
			l, err := netlink.LinkByName("vb")
			if err != nil {
				return err
			}
			return netlink.LinkDel(l)
		})
		if err != nil {
			panic(err)
		}
	})
	var failure error
	for i := 0; failure == nil; i++ {
		if a.Queue().Room() > 0 {
			put(a.Queue(), p, byte(i), make([]byte, 4096))
		}
		_, failure = a.Queue().Flush()
		take(b.Queue())
		b.Queue().Release()
	}
	wg.Wait()
	t.Log(failure)
	_, err := a.port.Flush()
	t.Log(err)
	require.Error(t, err)
	take(b.Queue())
	b.Queue().Release()
	require.Zero(t, take(b.Queue()))
	for e := range a.Events() {
		if e.Kind == link.DeviceGone {
			break
		}
	}
	require.Equal(t, link.Gone, a.State())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

// Sending and receiving from two goroutines is right under a lock, as a shard has
// one; anyone may look at counters and state, or wake the queue. [X06]
func TestTwoGoroutines(t *testing.T) {
	a, b := pair(t, 4200)
	p, back := pathTo(t, a, b), pathTo(t, b, a)
	const packets, window = 3000, 400
	var lock sync.Mutex
	var got atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() { // echoes
		for echoed := 0; echoed < packets; {
			tags := await(t, b.Queue(), 1)
			sendMany(t, b, back, len(tags), make([]byte, 4096))
			echoed += len(tags)
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				a.Counters()
				a.State()
				a.Setup()
				a.Queue().Wake()
			}
		}
	})
	wg.Go(func() { // sends
		for sent := 0; sent < packets; {
			lock.Lock()
			if a.Queue().Room() > 0 && int64(sent)-got.Load() < window {
				put(a.Queue(), p, 1, make([]byte, 100))
				_, _ = a.Queue().Flush()
				sent++
			}
			lock.Unlock()
		}
	})
	var rx [16]link.Rx
	for got.Load() < packets {
		lock.Lock()
		n := a.Queue().Recv(rx[:])
		a.Queue().Release()
		if n == 0 {
			a.Queue().Arm(clock.Now().Add(1e6), link.Interest{Rx: true})
		}
		lock.Unlock()
		if n == 0 {
			a.Queue().Park()
			lock.Lock()
			a.Queue().Disarm()
			lock.Unlock()
		}
		got.Add(int64(n))
	}
	close(done)
	wg.Wait()
}

// Peers on the same host may send super-frames. In native mode the kernel cuts them
// into packets first; in generic mode they come whole, longer than any packet, and are
// dropped, without harm to what follows.
func TestSuperFrame(t *testing.T) {
	const segments, size = 30, 1000
	for _, mode := range []struct {
		option  Option
		packets int
		dropped uint64
	}{{Native(), segments, 0}, {Generic(), 0, 1}} {
		s := netnstest.NewStreet(t, netns.Options{MTU: 9000})
		a, b := openOn(t, s.A, mode.option, Addrs(s.A.IPv4)), openOn(t, s.B, mode.option, Addrs(s.B.IPv4))
		p := pathTo(t, a, b)
		for i := range 100 {
			require.NoError(t, sendSuper(s.A, s.A.IPv4, s.B.IPv4, make([]byte, segments*size), size))
			require.Equal(t, mode.packets, take(b.Queue()))
			b.Queue().Release()
			require.Equal(t, mode.dropped*uint64(i+1), counter(b, "xdp: dropped, longer than any RoCEv2 packet"))
			send(t, a.Queue(), p, byte(i), make([]byte, 4096))
			require.Equal(t, []byte{byte(i)}, await(t, b.Queue(), 1))
		}
	}
}

// Closed while packets come and go: what the engine still does then does no harm.
func TestCloseUnderTraffic(t *testing.T) {
	for range 5 {
		a, b := pair(t, 4200)
		p := pathTo(t, a, b)
		var sent atomic.Int64
		var wg sync.WaitGroup
		wg.Go(func() {
			for failed := false; !failed; {
				for room := a.Queue().Room(); room > 0; room-- {
					put(a.Queue(), p, 1, make([]byte, 4096))
					sent.Add(1)
				}
				_, err := a.Queue().Flush()
				failed = err != nil
			}
		})
		wg.Go(func() {
			for sent.Load() < 2000 || take(b.Queue()) > 0 {
				take(b.Queue())
				b.Queue().Release()
			}
		})
		for sent.Load() < 2000 {
		}
		require.NoError(t, b.Close())
		require.NoError(t, a.Close())
		wg.Wait()
	}
}
