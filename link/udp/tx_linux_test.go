package udp

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/mmsg"
	"github.com/rocinante-rdma/roce/internal/outbox"
	"github.com/rocinante-rdma/roce/link"
)

// Room promises packets of maximal size, of which it takes exactly as many.
func TestRoom(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	whole := make([]byte, link.MaxPayload)
	for want := outbox.Packets; want > 0; want-- {
		require.Equal(t, want, a.queue.Room())
		put(a.queue, p, link.MaxHeader, 1, [][]byte{whole}, 3, want%2 == 0)
	}
	require.Zero(t, a.queue.Room())
	flush(t, a.queue)
	require.Equal(t, outbox.Packets, a.queue.Room())
	await(b.queue, outbox.Packets)
}

func TestGatherOrCopy(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
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
			a.queue.Reserve(p, 12, c.pay, 1, c.mustCopy, &s)
			require.Equal(t, 1, s.NBody)
			require.Equal(t, c.gathered, &s.Body[0][0] == &whole[0])
			require.Len(t, s.Head, 12)
			require.Len(t, s.Tail, 5)
		})
	}
	flush(t, a.queue)
	await(b.queue, 4)
}

// What the kernel has not taken no longer refers to the caller's memory, keeps its
// bytes and order, and leaves with the next Flush.
func TestKeepIsIndependentOfCaller(t *testing.T) {
	r := random(t)
	a, b := pair(t)
	p := path(t, a, b)
	q := a.queue
	var want [][]byte
	var memory [][]byte
	for i := range 20 {
		pay := fill(r, make([]byte, []int{4096, 100, 0, 4096, 3000}[i%5]))
		var s link.Slot
		q.Reserve(p, 12+i, [][]byte{pay}, -len(pay)&3, i%2 == 0, &s)
		fill(r, s.Head)
		p.Seal(s.ID, s.Head, s.Body[:s.NBody], s.Tail)
		packet := append([]byte{}, s.Head...)
		packet = append(append(packet, pay...), s.Tail...)
		want, memory = append(want, packet), append(memory, pay)
	}
	parts := supers(&q.box)
	taken := parts[0] + parts[1] + parts[2]
	q.box.KeepFrom(taken)
	for _, m := range memory {
		clear(m)
	}
	require.Equal(t, parts[3:], supers(&q.box))
	flush(t, q)
	frames, _ := await(b.queue, len(want)-taken)
	require.Equal(t, want[taken:], frames)
}

// A call moves a bounded number of bytes and messages, but always a whole
// super-frame.
func TestBurstBounds(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	q := a.queue
	build := func(first int) (packets []int) {
		n := len(q.burst.build(&q.box, first))
		q.burst.drop()
		return q.burst.packets[:n]
	}
	for range 40 {
		put(q, p, 12, 1, [][]byte{make([]byte, 4096)}, 0, false)
	}
	require.Equal(t, []int{15}, build(0))
	require.Equal(t, []int{10}, build(30))
	flush(t, q)
	for i := range 80 { // each longer than the one before
		put(q, p, 12, 1, [][]byte{make([]byte, 4*i)}, 0, false)
	}
	require.Equal(t, slices.Repeat([]int{1}, mmsg.MaxMessages), build(0))
	require.Equal(t, []int{1, 1, 1, 1, 1}, build(75))
	flush(t, q)
	await(b.queue, 120)
}
