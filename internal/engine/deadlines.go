package engine

import "github.com/rocinante-rdma/roce/clock"

// deadlines is a binary heap of the QPs whose machines have a deadline, the
// earliest first. A QP knows its place, so moving it needs no search.
type deadlines struct{ heap []*QP }

// deadline is a QP's part of the heap.
type deadline struct {
	due   clock.Time
	place int // index in the heap + 1; 0: not in it
}

// next is the earliest deadline.
func (d *deadlines) next() clock.Time {
	if len(d.heap) == 0 {
		return clock.Never
	}
	return d.heap[0].due
}

// first is the QP of the earliest deadline.
func (d *deadlines) first() *QP { return d.heap[0] }

// set gives q a deadline, or with clock.Never takes it out.
func (d *deadlines) set(q *QP, due clock.Time) {
	switch {
	case due == q.due && q.place != 0:
		return
	case due == clock.Never:
		d.remove(q)
		return
	case q.place == 0:
		d.heap = append(d.heap, q)
		q.place = len(d.heap)
	}
	q.due = due
	d.up(q.place - 1)
	d.down(q.place - 1)
}

func (d *deadlines) remove(q *QP) {
	if q.place == 0 {
		return
	}
	i, last := q.place-1, len(d.heap)-1
	d.swap(i, last)
	d.heap[last] = nil
	d.heap = d.heap[:last]
	q.place = 0
	if i < last {
		d.up(i)
		d.down(i)
	}
}

func (d *deadlines) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if d.heap[parent].due <= d.heap[i].due {
			return
		}
		d.swap(i, parent)
		i = parent
	}
}

func (d *deadlines) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(d.heap) {
			return
		}
		if right := child + 1; right < len(d.heap) && d.heap[right].due < d.heap[child].due {
			child = right
		}
		if d.heap[i].due <= d.heap[child].due {
			return
		}
		d.swap(i, child)
		i = child
	}
}

func (d *deadlines) swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].place, d.heap[j].place = i+1, j+1
}
