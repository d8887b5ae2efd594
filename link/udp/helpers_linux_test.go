package udp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Each test takes its own pair of 127.0.0.0/8, so that what one leaves in flight
// cannot reach another.
var lastLoopback = uint32(127<<24 | 71<<16)

func nextLoopback() netip.Addr {
	lastLoopback++
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], lastLoopback)
	return netip.AddrFrom4(b)
}

func open(t testing.TB, addr netip.Addr) *Link {
	t.Helper()
	l, err := Open(addr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// pair opens two links on loopback addresses.
func pair(t testing.TB) (a, b *Link) {
	t.Helper()
	return open(t, nextLoopback()), open(t, nextLoopback())
}

func path(t testing.TB, from, to *Link) *wire.Path {
	t.Helper()
	p := &wire.Path{Src: from.addr, Dst: to.addr}
	require.NoError(t, from.Resolve(p))
	return p
}

func random(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(testenv.Seed(t), 0)) }

func fill(r *rand.Rand, b []byte) []byte {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// put reserves and seals one packet with a header made of tag.
func put(q *queue, p *wire.Path, head int, tag byte, pay [][]byte, pad int, mustCopy bool) {
	var s link.Slot
	q.Reserve(p, head, pay, pad, mustCopy, &s)
	for i := range s.Head {
		s.Head[i] = tag
	}
	p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
}

func flush(t testing.TB, q *queue) {
	t.Helper()
	pending, err := q.Flush()
	require.NoError(t, err)
	require.Zero(t, pending)
}

// packetsOf cuts a frame into its packets.
func packetsOf(f *link.Rx) [][]byte {
	if f.Seg == 0 {
		return [][]byte{f.Frag[0]}
	}
	return slices.Collect(slices.Chunk(f.Frag[0], f.Seg))
}

// await receives until n packets came, parking in between, and returns copies of
// them; with each the metadata of its frame, and its place there as identification.
func await(q *queue, n int) (packets [][]byte, metas []link.Meta) {
	rx := make([]link.Rx, 64)
	for len(packets) < n {
		got := q.Recv(rx)
		for i := range rx[:got] {
			for id, p := range packetsOf(&rx[i]) {
				packets = append(packets, bytes.Clone(p))
				meta := rx[i].Meta
				meta.ID = uint16(id)
				metas = append(metas, meta)
			}
		}
		q.Release()
		if got == 0 {
			q.Arm(clock.Never, link.Interest{Rx: true})
			q.Park()
			q.Disarm()
		}
	}
	return packets, metas
}
