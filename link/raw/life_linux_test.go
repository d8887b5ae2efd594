package raw

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

func TestOpen(t *testing.T) {
	w := newNetwork(t, 9000)
	l := w.openA()
	require.Equal(t, "raw va", l.Name())
	require.Equal(t, 9000, l.MTU())
	require.Equal(t, link.Active, l.State())
	require.True(t, l.Addrs()[0].IsLinkLocalUnicast(), "GID 0")
	require.Equal(t, []any{addr("10.9.0.1"), addr("10.9.0.3"), addr("fd09::1")},
		[]any{l.Addrs()[1], l.Addrs()[2], l.Addrs()[3]})
	require.Len(t, l.Addrs(), 4)
	require.Empty(t, l.Counters())
}

// Errors of Open name what is wrong and what to do.
func TestOpenRefuses(t *testing.T) {
	w := newNetwork(t, 1500)
	w.a.do(func() {
		for _, c := range []struct {
			ifname string
			opts   []Option
			says   string
		}{
			{"eth77", nil, "there are"},
			{"lo", nil, "use the udp link"},
			{"va", []Option{Addrs(addr("10.9.0.77"))}, "10.9.0.1 on va"},
		} {
			before := openFiles(t)
			_, err := Open(c.ifname, c.opts...)
			require.ErrorContains(t, err, c.says)
			t.Log(err)
			require.LessOrEqual(t, openFiles(t), before)
		}
	})
}

func TestResolveRefuses(t *testing.T) {
	w := newNetwork(t, 1500)
	hasten(w.a, "va")
	l := w.openA()
	for _, c := range []struct {
		src, dst, says string
	}{
		{"10.9.0.1", "fd09::2", "family"},
		{"10.9.0.9", "10.9.0.2", "not this link's"},
		{"10.9.0.1", "224.0.0.1", "unicast"},
		{"10.9.0.1", "::ffff:10.9.0.2", "IPv4 as 4 bytes"},
		{"10.9.0.1", "192.0.2.1", "no route"},
		{"10.9.0.1", "10.9.0.77", "neighbour 10.9.0.77 on va"},
	} {
		err := l.Resolve(&wire.Path{Src: addr(c.src), Dst: addr(c.dst)})
		require.ErrorContains(t, err, c.says)
		t.Log(err)
	}
}

// Closing frees everything: descriptors, goroutines, the port; the link can be opened
// again at once.
func TestReopen(t *testing.T) {
	w := newNetwork(t, 1500)
	there := w.openB()
	ba := resolved(t, there, "10.9.0.2", "10.9.0.1")
	round := func(tag byte) {
		l := w.openA()
		ab := resolved(t, l, "10.9.0.1", "10.9.0.2")
		exchangeOnce(t, l, there, ab, ba, tag)
		require.NoError(t, l.Close())
		require.NoError(t, l.Close(), "closing again")
	}
	const rounds = 20
	round(0)
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for tag := range byte(rounds) {
		round(tag)
	}
	// A leak is one for each round. A goroutine that has done all may still be ending.
	require.Less(t, openFiles(t), files+rounds)
	require.Less(t, runtime.NumGoroutine(), goroutines+rounds)
}

// A closed link does nothing, says so, and touches no descriptor.
func TestClosed(t *testing.T) {
	w := newNetwork(t, 1500)
	l := w.openA()
	p := resolved(t, l, "10.9.0.1", "10.9.0.2")
	require.NoError(t, l.Close())
	put(l.queue, p, 1, 64)
	_, err := l.queue.Flush()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Zero(t, l.queue.Recv(make([]link.Rx, 1)))
	l.queue.Arm(0, link.Interest{Rx: true})
	l.queue.Wake()
	l.queue.Park()
	l.queue.Disarm()
	_ = l.Counters()
	require.ErrorIs(t, l.Resolve(&wire.Path{Dst: addr("10.9.0.2")}), net.ErrClosed)
}

// A receive buffer that overflows shows in the counters, and nothing else is lost.
func TestOverrun(t *testing.T) {
	w := newNetwork(t, 1500)
	a, b := w.openA(), w.openB()
	require.NoError(t, unix.SetsockoptInt(b.port.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<18))
	p := resolved(t, a, "10.9.0.1", "10.9.0.2")
	a.port.giveUpSuperFrames()
	const n = 4000
	for i := range n {
		put(a.queue, p, byte(i), 1024)
		if a.queue.Room() == 0 || i == n-1 {
			flush(t, a.queue)
		}
	}
	received := uint64(0)
	rx := make([]link.Rx, 64)
	for {
		got := b.queue.Recv(rx)
		b.queue.Release()
		if received += uint64(got); got == 0 {
			break
		}
	}
	lost := counter(b, "raw: dropped, the receive buffer was full")
	require.Positive(t, lost)
	require.Equal(t, lost, counter(b, "raw: dropped, the receive buffer was full"), "asked again")
	require.Equal(t, uint64(n), received+lost)
	t.Logf("%d received, %d lost", received, lost)
}
