package xdp

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// openOn opens a link on a host's interface. The test need not close it.
func openOn(t testing.TB, h *netns.Host, opts ...Option) *Link {
	t.Helper()
	l, err := tryOpen(h, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func tryOpen(h *netns.Host, opts ...Option) (l *Link, err error) {
	err = h.Do(func() error {
		l, err = Open(h.Interface, opts...)
		return err
	})
	return l, err
}

// pair opens links on both ends of a new street, for IPv4.
func pair(t testing.TB, mtu int, opts ...Option) (a, b *Link) {
	t.Helper()
	s := netnstest.NewStreet(t, netns.Options{MTU: mtu})
	return openOn(t, s.A, append(opts, Addrs(s.A.IPv4))...), openOn(t, s.B, append(opts, Addrs(s.B.IPv4))...)
}

// pathTo resolves a path between the first addresses of two links.
func pathTo(t testing.TB, from, to *Link) *wire.Path {
	t.Helper()
	p := &wire.Path{Src: from.Addrs()[0], Dst: to.Addrs()[0], SrcPort: 0xc001}
	require.NoError(t, from.Resolve(p))
	return p
}

func random(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(testenv.Seed(t), 0)) }

// put reserves and seals one packet with a header of 12 bytes made of tag.
func put(q link.Queue, p *wire.Path, tag byte, payload []byte) {
	var s link.Slot
	q.Reserve(p, 12, [][]byte{payload}, 0, false, &s)
	for i := range s.Head {
		s.Head[i] = tag
	}
	p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
}

// send sends one packet.
func send(t testing.TB, q link.Queue, p *wire.Path, tag byte, payload []byte) {
	t.Helper()
	put(q, p, tag, payload)
	pending, err := q.Flush()
	require.NoError(t, err)
	require.Zero(t, pending)
}

// await receives n packets, parking in between, and returns their first bytes.
func await(t testing.TB, q link.Queue, n int) (tags []byte) {
	t.Helper()
	var rx [64]link.Rx
	for len(tags) < n {
		got := q.Recv(rx[:])
		for i := range rx[:got] {
			m := rx[i].Meta
			require.True(t, wire.VerifyICRC(m.Src, m.Dst, m.SrcPort, m.Flags, m.ID, rx[i].Frag), "ICRC")
			tags = append(tags, rx[i].Frag[0][0])
		}
		q.Release()
		if got == 0 {
			q.Arm(clock.Never, link.Interest{Rx: true})
			q.Park()
			q.Disarm()
		}
	}
	return tags
}

// counter is the value of one of a link's counters.
func counter(l *Link, name string) uint64 {
	for _, c := range l.Counters() {
		if c.Name == name {
			return c.Value
		}
	}
	return 0
}
