package udp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/wire"
)

// Room promises packets of maximal size, of which it takes exactly as many.
func TestRoom(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	whole := make([]byte, link.MaxPayload)
	for want := txPackets; want > 0; want-- {
		require.Equal(t, want, a.queue.Room())
		put(a.queue, p, link.MaxHeader, 1, [][]byte{whole}, 3, want%2 == 0)
	}
	require.Zero(t, a.queue.Room())
	flush(t, a.queue)
	require.Equal(t, txPackets, a.queue.Room())
	await(b.queue, txPackets)
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
			require.Zero(t, s.ID)
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
	const taken = 7
	q.tx.keepFrom(taken)
	for _, m := range memory {
		clear(m)
	}
	require.Equal(t, len(want)-taken, q.tx.n)
	for i := range q.tx.packets {
		require.Nil(t, q.tx.packets[i].gathered)
		require.Equal(t, i < q.tx.n, q.tx.packets[i].to != nil)
	}
	flush(t, q)
	frames, _ := await(b.queue, len(want)-taken)
	require.Equal(t, want[taken:], frames)
}

// A call moves a bounded number of bytes and packets.
func TestBurstBounds(t *testing.T) {
	a, b := pair(t)
	p := path(t, a, b)
	q := a.queue
	for range 40 {
		put(q, p, 12, 1, [][]byte{make([]byte, 4096)}, 0, false)
	}
	require.Len(t, q.burst.build(&q.tx, 0), maxCallBytes/(12+4096+wire.ICRCLen))
	flush(t, q)
	for range 40 {
		put(q, p, 12, 1, nil, 0, false)
	}
	require.Len(t, q.burst.build(&q.tx, 0), maxCallMsgs)
	require.Len(t, q.burst.build(&q.tx, 35), 5)
	flush(t, q)
	await(b.queue, 80)
}
