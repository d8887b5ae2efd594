package simnet

import (
	"container/heap"

	"github.com/rocinante-rdma/roce/clock"
)

// event is something that will happen at an instant. It is part of what it
// happens to, so that scheduling allocates nothing.
type event struct {
	at    clock.Time
	seq   uint64 // events of one instant happen in the order of scheduling
	place int    // in the heap, from 1; 0: not scheduled
	what  occurrence
}

// occurrence is what happens at an event.
type occurrence interface{ occur(w *World) }

// agenda holds the events to come, earliest first.
type agenda struct {
	heap eventHeap
	seq  uint64
}

// schedule puts e on the agenda at an instant, moving it if it was there already.
func (a *agenda) schedule(e *event, at clock.Time) {
	a.seq++
	e.at, e.seq = at, a.seq
	if e.place > 0 {
		heap.Fix(&a.heap, e.place-1)
		return
	}
	heap.Push(&a.heap, e)
}

// cancel takes e off the agenda, if it is there.
func (a *agenda) cancel(e *event) {
	if e.place > 0 {
		heap.Remove(&a.heap, e.place-1)
	}
}

// next is the instant of the earliest event, clock.Never if there is none.
func (a *agenda) next() clock.Time {
	if len(a.heap) == 0 {
		return clock.Never
	}
	return a.heap[0].at
}

// pop takes the earliest event off the agenda.
func (a *agenda) pop() *event { return heap.Pop(&a.heap).(*event) }

// eventHeap implements heap.Interface.
type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h eventHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *eventHeap) Push(x any) {
	*h = append(*h, x.(*event))
	x.(*event).place = len(*h)
}

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.place = 0
	return e
}
