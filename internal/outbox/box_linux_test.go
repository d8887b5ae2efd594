package outbox

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

func newBox(burstBytes int) *Box[int] {
	b := &Box[int]{}
	b.Init(burstBytes)
	return b
}

// put reserves a packet whose head and tail are made of tag, and returns its bytes.
func put(b *Box[int], to, head int, tag byte, pay []byte, mustCopy bool) []byte {
	var s link.Slot
	b.Reserve(to, head, [][]byte{pay}, -len(pay)&3, mustCopy, &s)
	for _, piece := range [][]byte{s.Head, s.Tail} {
		for i := range piece {
			piece[i] = tag
		}
	}
	return bytes.Join([][]byte{s.Head, pay, s.Tail}, nil)
}

// Room promises packets of maximal size, of which it takes exactly as many.
func TestRoom(t *testing.T) {
	b := newBox(0)
	whole := make([]byte, link.MaxPayload)
	for want := Packets; want > 0; want-- {
		require.Equal(t, want, b.Room())
		var s link.Slot
		b.Reserve(0, link.MaxHeader, [][]byte{whole}, 3, want%2 == 0, &s)
	}
	require.Zero(t, b.Room())
	b.KeepFrom(Packets)
	require.Equal(t, Packets, b.Room())
}

func TestGatherOrCopy(t *testing.T) {
	whole := make([]byte, 4096)
	for _, c := range []struct {
		name     string
		pay      [][]byte
		mustCopy bool
		gathered bool
	}{
		{"whole", [][]byte{whole}, false, true},
		{"whole, must copy", [][]byte{whole}, true, false},
		{"small", [][]byte{whole[:4095]}, false, false},
		{"pieces", [][]byte{whole[:2048], whole[2048:]}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s link.Slot
			newBox(0).Reserve(0, 12, c.pay, 1, c.mustCopy, &s)
			require.Equal(t, 1, s.NBody)
			require.Equal(t, c.gathered, &s.Body[0][0] == &whole[0])
			require.Len(t, s.Head, 12)
			require.Len(t, s.Tail, 1+wire.ICRCLen)
		})
	}
}

// What was kept no longer refers to the caller's memory, and keeps its bytes and
// order. No packet joins a burst from before.
func TestKeepIsIndependentOfCaller(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBox(1 << 16)
		var want, memory [][]byte
		n := rapid.IntRange(1, 40).Draw(t, "packets")
		for i := range n {
			pay := bytes.Repeat([]byte{byte(i)}, rapid.SampledFrom([]int{0, 1, 100, 3000, 4096}).Draw(t, "payload"))
			want = append(want, put(b, 0, 12+4*(i%3), byte(i), pay, rapid.Bool().Draw(t, "mustCopy")))
			memory = append(memory, pay)
		}
		first := rapid.IntRange(0, n).Draw(t, "sent")
		b.KeepFrom(first)
		for _, m := range memory {
			clear(m)
		}
		require.Equal(t, n-first, b.Len())
		for i := range b.Len() {
			require.Equal(t, want[first+i], content(b, i, 1))
		}
		put(b, 0, 12, 0, nil, true)
		require.Zero(t, b.At(b.Len()-1).Index)
	})
}

// Whatever is reserved, a burst goes to one place, has equal packets but for a shorter
// last one, stays in its bounds, and counts from 0; and the bursts together are all
// packets.
func TestBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{0, 1000, 10_000, 65_469}).Draw(t, "limit")
		b := newBox(limit)
		var want [][]byte
		for b.Len() < rapid.IntRange(1, Packets).Draw(t, "packets") {
			to, size := rapid.IntRange(0, 1).Draw(t, "to"), rapid.SampledFrom([]int{0, 8, 1024, 4096}).Draw(t, "payload")
			for range min(rapid.IntRange(1, 70).Draw(t, "alike"), b.Room()) {
				want = append(want, put(b, to, 12, byte(len(want)), make([]byte, size), size%3 == 0))
			}
		}
		for first := 0; first < b.Len(); {
			n, size := b.Burst(first)
			require.Equal(t, bytes.Join(want[first:first+n], nil), content(b, first, n))
			require.Len(t, content(b, first, n), size)
			require.True(t, n == 1 || size <= limit && n <= MaxSegments)
			for i := range n {
				pk, head := b.At(first+i), b.At(first)
				require.Equal(t, i, pk.Index)
				require.Equal(t, head.To, pk.To)
				require.True(t, pk.Size == head.Size || i == n-1 && pk.Size < head.Size)
			}
			first += n
		}
	})
}

// What could have been one super-frame is one.
func TestBurstsAreAsLongAsCanBe(t *testing.T) {
	b := newBox(65_469)
	for range Packets {
		put(b, 0, 12, 0, make([]byte, 1024), true)
	}
	n, _ := b.Burst(0)
	require.Equal(t, 65_469/1040, n)
	b.SetBurst(0)
	b.KeepFrom(Packets)
	put(b, 0, 12, 0, nil, true)
	put(b, 0, 12, 0, nil, true)
	n, _ = b.Burst(0)
	require.Equal(t, 1, n)
}
